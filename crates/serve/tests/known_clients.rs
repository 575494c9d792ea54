//! Clients that prove who they are, and the tenants that they are by that.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accelflow_accel::Settings;
use accelflow_accel::thrift::Protocol;
use accelflow_serve::{
    CallError, Client, ClientConfig, GrpcClient, HandlerResult, Request, RetryPolicy, Running,
    ServeError, Server, Shaping, Tenant, TenantError, TlsIdentity, TlsTrust,
};
use accelflow_shaping::Registers;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig as TlsConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::common::*;

const ADD: &[u8] = br#"{"a":1,"b":1}"#;

/// An authority, and the folder of those that it vouches for.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    files: Certificate,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("an authority");
        let files = Certificate::new(name);
        std::fs::write(files.file("ca.pem"), issuer.pem()).expect("a file");
        Authority { issuer, files }
    }

    fn file(&self) -> PathBuf {
        self.files.file("ca.pem")
    }

    /// Certificate and key of a client with these DNS names and URIs.
    fn vouch(&self, who: &str, names: &[&str], uris: &[&str]) -> (PathBuf, PathBuf) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("DNS names");
        for uri in uris {
            let uri = (*uri).try_into().expect("ASCII");
            params.subject_alt_names.push(SanType::URI(uri));
        }
        let key = KeyPair::generate().expect("a key");
        let made = params.signed_by(&key, &self.issuer).expect("a certificate");
        let files = [("pem", made.pem()), ("key", key.serialize_pem())];
        let [certificate, key] = files.map(|(kind, text)| {
            let file = self.files.file(&format!("{who}.{kind}"));
            std::fs::write(&file, text).expect("a file");
            file
        });
        (certificate, key)
    }
}

fn trust(server: &Certificate, own: Option<&(PathBuf, PathBuf)>) -> TlsTrust {
    let authorities = server.file("cert.pem");
    match own {
        None => server.trust(),
        Some((certificate, key)) => {
            TlsTrust::with_identity(&authorities, "localhost", certificate, key).expect("a pair")
        }
    }
}

fn config() -> ClientConfig {
    ClientConfig {
        timeout: Duration::from_secs(60),
        retry: RetryPolicy {
            max_attempts: 1,
            ..RetryPolicy::default()
        },
        ..ClientConfig::default()
    }
}

fn client(running: &Running, trust: TlsTrust) -> Client {
    let settings = Settings {
        schema: schema(),
        ..Settings::default()
    };
    let (address, protocol) = (running.address(), Protocol::Binary);
    Client::new(address, settings, protocol, Some(trust), config()).expect("settings that exist")
}

fn grpc_client(running: &Running, trust: TlsTrust) -> GrpcClient {
    let (schema, address, settings) = (grpc::schema(), running.address(), Settings::default());
    GrpcClient::new(schema, address, settings, Some(trust), config()).expect("settings that exist")
}

/// For clients that `authority` vouches for.
fn asking(certificate: &Certificate, authority: &Authority) -> TlsIdentity {
    let (own, key) = (certificate.file("cert.pem"), certificate.file("key.pem"));
    TlsIdentity::for_known_clients(&own, &key, &authority.file()).expect("just made")
}

type Seen = Arc<Mutex<Vec<Vec<String>>>>;

/// A handler that notes who asks.
fn noting(seen: &Seen, answer: &'static [u8]) -> impl Fn(&Request<'_>) -> HandlerResult + use<> {
    let seen = seen.clone();
    move |request| {
        let names = request.peer_identities.to_vec();
        seen.lock().expect("short").push(names);
        Ok(answer.to_vec())
    }
}

/// A server of Thrift whose handler notes who asks.
fn noting_server(certificate: &Certificate, authority: &Authority, seen: &Seen) -> Running {
    let mut server = server();
    server.set_tls(asking(certificate, authority));
    let noting = server.handle("Test.add", noting(seen, b"2"));
    noting.expect("declared");
    start(server)
}

#[test]
fn handlers_learn_who_their_clients_are() {
    let certificate = Certificate::new("known-clients");
    let authority = Authority::new("known-clients-ca");
    let names = ["batch.internal", "spiffe://internal/batch"];
    let batch = authority.vouch("batch", &names[..1], &names[1..]);
    let seen = Seen::default();
    let running = noting_server(&certificate, &authority, &seen);
    let calling = client(&running, trust(&certificate, Some(&batch)));
    for _ in 0..2 {
        assert_eq!(calling.call("add", ADD).expect("adds"), b"2");
    }
    let again = client(&running, trust(&certificate, Some(&batch)));
    assert_eq!(again.call("add", ADD).expect("adds"), b"2");
    let mut server = Server::grpc(grpc::schema());
    server.set_tls(asking(&certificate, &authority));
    server
        .handle("Echo", noting(&seen, b"{}"))
        .expect("declared");
    let running = start(server);
    let calling = grpc_client(&running, trust(&certificate, Some(&batch)));
    calling.call("Echo", b"{}").expect("echoes");
    let seen = seen.lock().expect("all have ended").clone();
    assert_eq!(seen, vec![names.map(str::to_owned).to_vec(); 4]);
}

#[test]
fn no_uri_can_be_taken_for_a_dns_name() {
    let certificate = Certificate::new("odd-names");
    let authority = Authority::new("odd-names-ca");
    let uris = [
        "payments.internal",
        ":payments.internal",
        "1a:b",
        "a_b:c",
        "urn:X",
    ];
    let odd = authority.vouch("odd", &["One.Batch.internal"], &uris);
    let seen = Seen::default();
    let running = noting_server(&certificate, &authority, &seen);
    let calling = client(&running, trust(&certificate, Some(&odd)));
    assert_eq!(calling.call("add", ADD).expect("adds"), b"2");
    let seen = seen.lock().expect("it has ended").clone();
    assert_eq!(seen, [["one.batch.internal", "urn:X"]]);
}

/// A client may divide its handshake into records as it likes, and must divide messages that are
/// longer than a record.
#[test]
fn messages_of_handshakes_may_take_many_records() {
    let certificate = Certificate::new("divided");
    let authority = Authority::new("divided-ca");
    let names: Vec<String> = (0..1_000)
        .map(|number| format!("host-{number}.batch.internal"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let long = authority.vouch("long", &names, &[]);
    let own = CertificateDer::from_pem_file(&long.0).expect("made");
    assert!(own.len() > 1 << 14, "{}", own.len());
    let seen = Seen::default();
    let running = noting_server(&certificate, &authority, &seen);
    for record in [Some(64), None] {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der()).expect("a certificate");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = TlsConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("versions")
            .with_root_certificates(roots);
        let key = PrivateKeyDer::from_pem_file(&long.1).expect("made");
        let config = builder.with_client_auth_cert(vec![own.clone()], key);
        let mut config = config.expect("a pair");
        config.max_fragment_size = record;
        let name = ServerName::try_from("localhost").expect("a name");
        let client = ClientConnection::new(Arc::new(config), name).expect("a client");
        let mut stream = StreamOwned::new(client, connect(&running));
        let sum = call(&mut stream, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
        assert_eq!(sum.1, r#"{"success":2}"#);
    }
    let seen = seen.lock().expect("all have ended").clone();
    assert_eq!(seen, [names.clone(), names]);
}

/// A resumed connection would be its client's without a look at the certificate.
#[test]
fn servers_that_ask_give_no_tickets() {
    let certificate = Certificate::new("tickets");
    let authority = Authority::new("tickets-ca");
    let (chain, key) = authority.vouch("batch", &["batch.internal"], &[]);
    for asks in [false, true] {
        let mut server = server();
        server.set_tls(match asks {
            true => asking(&certificate, &authority),
            false => certificate.identity(),
        });
        let running = start(server);
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der()).expect("a certificate");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = TlsConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("versions")
            .with_root_certificates(roots);
        let chain = vec![CertificateDer::from_pem_file(&chain).expect("made")];
        let key = PrivateKeyDer::from_pem_file(&key).expect("made");
        let config = builder.with_client_auth_cert(chain, key).expect("a pair");
        let name = ServerName::try_from("localhost").expect("a name");
        let client = ClientConnection::new(Arc::new(config), name).expect("a client");
        let mut stream = StreamOwned::new(client, connect(&running));
        call(&mut stream, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
        assert_eq!(stream.conn.tls13_tickets_received() == 0, asks);
    }
}

#[test]
fn clients_without_a_trusted_certificate_are_refused() {
    let certificate = Certificate::new("unknown-clients");
    let authority = Authority::new("unknown-clients-ca");
    let other = Authority::new("unknown-clients-other");
    let stranger = other.vouch("stranger", &["batch.internal"], &[]);
    let mut server = server();
    server.set_tls(asking(&certificate, &authority));
    let running = start(server);
    for own in [None, Some(&stranger)] {
        let refused = client(&running, trust(&certificate, own)).call("add", ADD);
        // Certificates are asked for in TLS 1.3 when the client already sends.
        assert!(
            matches!(refused, Err(CallError::Tls { .. } | CallError::Lost { .. })),
            "{refused:?}"
        );
    }
    let mut server = Server::grpc(grpc::schema());
    server.set_tls(asking(&certificate, &authority));
    let speaking_grpc = start(server);
    for (own, why) in [
        (None, "alert 116 (CertificateRequired)"),
        // Its authority is called as ours, and has another key.
        (Some(&stranger), "alert 51 (DecryptError)"),
    ] {
        let calling = grpc_client(&speaking_grpc, trust(&certificate, own));
        let refused = calling.call("Echo", b"{}").expect_err("nobody vouches");
        assert!(refused.to_string().contains(why), "{refused}");
        assert_eq!(refused.reason(), "tls");
    }
    await_count(
        &running,
        r#"accelflow_connections_total{end="handshake"}"#,
        2,
    );
    let files = (certificate.file("cert.pem"), certificate.file("key.pem"));
    for (authorities, why) in [
        (
            certificate.file("key.pem"),
            "must have at least one certificate in PEM form",
        ),
        (certificate.file("none.pem"), "No such file"),
    ] {
        let refused = TlsIdentity::for_known_clients(&files.0, &files.1, &authorities);
        let error = refused.expect_err("no authorities").to_string();
        assert!(error.contains(why), "{error}");
        assert!(
            error.starts_with(&authorities.display().to_string()),
            "{error}"
        );
    }
}

fn named(name: &str, identities: &[&str]) -> Tenant {
    Tenant {
        identities: identities
            .iter()
            .map(|identity| (*identity).to_owned())
            .collect(),
        ..Tenant::new(name, Vec::new())
    }
}

/// A tenant with one connection, and one with two requests and one more in an hour.
fn batch_and_web() -> Vec<Tenant> {
    let registers = Registers::new(1, 2, 3_600_000_000).expect("they fit");
    vec![
        Tenant {
            max_connections: 1,
            ..named("batch", &["none", "one.batch.internal"])
        },
        Tenant {
            shaping: Shaping {
                requests: Some(registers),
                ..Shaping::default()
            },
            ..named("web", &["spiffe://internal/web"])
        },
    ]
}

#[test]
fn tenants_are_known_by_their_clients_certificates() {
    let certificate = Certificate::new("named-tenants");
    let authority = Authority::new("named-tenants-ca");
    let batch = authority.vouch("batch", &["one.batch.internal"], &[]);
    let mesh = authority.vouch("mesh", &[], &["spiffe://internal/web"]);
    let nobody = authority.vouch("nobody", &["one.batch.internal.org"], &[]);
    let tenants = batch_and_web();
    for grpc in [false, true] {
        let mut server = match grpc {
            false => server(),
            true => grpc::server(),
        };
        server.set_tls(asking(&certificate, &authority));
        let told = server.set_tenants(tenants.clone());
        told.expect("they can be told apart");
        let running = start(server);
        let call = |own: &(PathBuf, PathBuf)| -> Box<dyn Fn() -> Result<Vec<u8>, CallError>> {
            let trust = trust(&certificate, Some(own));
            match grpc {
                false => {
                    let client = client(&running, trust);
                    Box::new(move || client.call("add", ADD))
                }
                true => {
                    let client = grpc_client(&running, trust);
                    Box::new(move || client.call("Add", ADD))
                }
            }
        };
        let passed = |tenant: &str| {
            let series = format!(r#"accelflow_tenant_requests_total{{tenant="{tenant}"}}"#);
            counted(&running, &series)
        };
        let (first, third) = (call(&batch), call(&nobody));
        for _ in 0..3 {
            first().expect("adds");
        }
        assert_eq!((passed("batch"), passed("")), (3, 0));
        third().expect("adds");
        assert_eq!((passed("batch"), passed("")), (3, 1));
        // Batch has its one place.
        let second = call(&batch);
        second().expect_err("one connection at once");
        let series = r#"accelflow_connections_total{end="too_many_of_tenant"}"#;
        await_count(&running, series, 1);
        first().expect("it was not the first one's");
        let web = call(&mesh);
        web().expect("a token");
        web().expect("another");
        assert_eq!(passed("web"), 2);
    }
}

#[test]
fn identities_need_a_server_that_asks() {
    let certificate = Certificate::new("unproven");
    let mut server = server();
    server.set_tls(certificate.identity());
    let named = vec![named("batch", &["batch.internal"])];
    server.set_tenants(named).expect("they can be told apart");
    let refused = server.start("127.0.0.1:0".parse().expect("an address"));
    let error = refused.expect_err("nobody proves anything");
    let expected = TenantError::NoClientCertificates("batch".to_owned());
    assert!(matches!(&error, ServeError::Tenants(it) if *it == expected));
    assert_eq!(
        error.to_string(),
        "tenant 'batch': has identities, but the server does not require client certificates"
    );
}

#[test]
fn impossible_identities_are_refused() {
    for identity in ["", "*.internal", "a b", "127.0.0.1"] {
        let refused = server().set_tenants(vec![named("batch", &[identity])]);
        let expected = TenantError::Identity {
            name: "batch".to_owned(),
            identity: identity.to_owned(),
        };
        assert_eq!(refused, Err(expected));
    }
}

/// Whose a connection is, is known after its handshake: before that it takes nobody's place.
#[test]
fn a_tenant_at_its_limit_does_not_block_others() {
    let certificate = Certificate::new("room");
    let authority = Authority::new("room-ca");
    let mesh = authority.vouch("mesh", &["web.internal"], &[]);
    let other = authority.vouch("other", &["other.internal"], &[]);
    let here: std::net::IpAddr = [127, 0, 0, 1].into();
    let office = Tenant {
        max_connections: 1,
        ..Tenant::new("office", vec![here.into()])
    };
    let mut server = server();
    server.set_tls(asking(&certificate, &authority));
    let told = server.set_tenants(vec![named("web", &["WEB.internal"]), office]);
    told.expect("they can be told apart");
    let running = start(server);
    let full = client(&running, trust(&certificate, Some(&other)));
    full.call("add", ADD).expect("it is the only one");
    let web = client(&running, trust(&certificate, Some(&mesh)));
    web.call("add", ADD)
        .expect("the office is full, and not the web");
    let series = r#"accelflow_tenant_requests_total{tenant="web"}"#;
    assert_eq!(counted(&running, series), 1);
}
