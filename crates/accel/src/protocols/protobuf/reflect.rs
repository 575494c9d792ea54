//! Looks up the files that declare a name, for clients that ask a server for its interface (gRPC
//! server reflection).

use prost_reflect::FileDescriptor;

use super::schema::Schema;

impl Schema {
    /// Returns the full names of the services, such as `package.Service`, in the order of their
    /// declaration.
    pub fn services(&self) -> impl Iterator<Item = String> {
        let services = self.pool.services();
        services.map(|service| service.full_name().to_owned())
    }

    /// Returns the file called `name`, as imports spell it; `None` if the interface neither is this
    /// file nor imports it. Every interface has `google/protobuf/any.proto`.
    pub fn file_named(&self, name: &str) -> Option<FileDescriptor> {
        self.pool.get_file_by_name(name)
    }

    /// Returns the file that declares `symbol`: the full name of a message, enum, value of an enum,
    /// field, oneof, extension, service or method, with or without a dot in front. `None` if no
    /// file declares it.
    pub fn file_of(&self, symbol: &str) -> Option<FileDescriptor> {
        let symbol = full_name(symbol);
        let pool = &self.pool;
        if let Some(message) = pool.get_message_by_name(symbol) {
            return Some(message.parent_file());
        }
        if let Some(kind) = pool.get_enum_by_name(symbol) {
            return Some(kind.parent_file());
        }
        if let Some(service) = pool.get_service_by_name(symbol) {
            return Some(service.parent_file());
        }
        if let Some(extension) = pool.get_extension_by_name(symbol) {
            return Some(extension.parent_file());
        }
        self.file_of_member(symbol)
    }

    /// The file that declares a method, a field, a oneof, or the value of an enum.
    fn file_of_member(&self, symbol: &str) -> Option<FileDescriptor> {
        let pool = &self.pool;
        let (parent, name) = symbol.rsplit_once('.').unwrap_or(("", symbol));
        if let Some(service) = pool.get_service_by_name(parent) {
            let found = service.methods().any(|method| method.name() == name);
            return found.then(|| service.parent_file());
        }
        if let Some(message) = pool.get_message_by_name(parent)
            && (message.get_field_by_name(name).is_some()
                || message.oneofs().any(|oneof| oneof.name() == name))
        {
            return Some(message.parent_file());
        }
        // The values of an enum are names beside the enum, not within it.
        let declares = |value: prost_reflect::EnumValueDescriptor| value.full_name() == symbol;
        let mut enums = pool.all_enums();
        let found = enums.find(|kind| kind.values().any(declares))?;
        Some(found.parent_file())
    }

    /// Returns the file that declares the extension of `message` with the field number `number`;
    /// `None` if there is none.
    pub fn file_of_extension(&self, message: &str, number: i32) -> Option<FileDescriptor> {
        let message = self.pool.get_message_by_name(full_name(message))?;
        let extension = message.get_extension(u32::try_from(number).ok()?)?;
        Some(extension.parent_file())
    }

    /// Returns the field numbers of all extensions of `message` in ascending order; `None` if there
    /// is no such message.
    pub fn extension_numbers(&self, message: &str) -> Option<Vec<i32>> {
        let message = self.pool.get_message_by_name(full_name(message))?;
        let numbers = message.extensions().map(|extension| extension.number());
        let mut numbers: Vec<_> = numbers
            .filter_map(|number| i32::try_from(number).ok())
            .collect();
        numbers.sort_unstable();
        Some(numbers)
    }
}

/// A name that may be written with a dot in front, as `.proto` files may.
fn full_name(name: &str) -> &str {
    name.strip_prefix('.').unwrap_or(name)
}
