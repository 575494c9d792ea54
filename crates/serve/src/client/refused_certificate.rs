//! Plain words for the reasons why a client refuses the certificate of a server.

use rustls::CertificateError;

/// Describes a failed handshake: what is wrong with the server's certificate and what to do about
/// it, or rustls' text for other errors.
pub(super) fn describe(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(reason) => certificate(reason),
        _ => None,
    }
    .unwrap_or_else(|| error.to_string())
}

fn certificate(reason: &CertificateError) -> Option<String> {
    Some(match reason {
        // BadSignature: an authority of the same name, with another key, is trusted.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "the server's certificate is not signed by a trusted authority: add the certificate of its \
             authority, or its own if it is self-signed, to the file of trusted authorities"
                .to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the server's certificate has expired: renew it, or set the clock of this machine".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet: set the clock of this machine, or renew it"
                .to_owned()
        }
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let names = match presented.is_empty() {
                true => "it has no names (subjectAltName)".to_owned(),
                false => {
                    let names: Vec<&str> = presented.iter().map(|text| name(text)).collect();
                    format!("its names are {}", names.join(", "))
                }
            };
            format!(
                "the server's certificate is not valid for name '{}', {names}: set server_name to a \
                 name of the certificate, or renew the certificate with this name",
                expected.to_str()
            )
        }
        CertificateError::Other(other) => match other.0.downcast_ref::<webpki::Error>() {
            Some(webpki::Error::CaUsedAsEndEntity) => {
                "the server's certificate is a CA certificate (basicConstraints CA:TRUE), which a \
                 server cannot use: renew it with basicConstraints CA:FALSE, for openssl req -x509 \
                 by -addext basicConstraints=critical,CA:FALSE"
                    .to_owned()
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// The name in rustls' text for it, such as `DnsName("localhost")`.
fn name(text: &str) -> &str {
    let inner = text
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.map_or(text, |inner| inner.trim_matches('"'))
}
