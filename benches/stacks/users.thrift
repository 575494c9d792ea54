// The service of benches/stacks/capture.py.
service Users { string Login(1: string name, 2: string password) }
