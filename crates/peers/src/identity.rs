//! What proves to the other side of a connection that one knows the token: a signature by a key that
//! is derived from it, shown as a raw public key (RFC 7250). There is no certificate, so there is
//! no authority to run and no date to expire, and nodes whose clocks differ trust each other.

use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme, version,
};

use super::token::PeerToken;
use super::wire::PROTOCOL;

/// What stands before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410, section 7).
const KEY_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// How both sides of a connection show who they are, and whom they believe.
#[derive(Debug)]
pub(crate) struct TlsIdentity {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
}

impl TlsIdentity {
    /// That of who knows this token.
    pub(crate) fn from_token(token: &PeerToken) -> io::Result<TlsIdentity> {
        let provider = Arc::new(ring::default_provider());
        let key = [KEY_PREFIX.as_slice(), &token.derive_seed()].concat();
        let key = ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(key)).map_err(tls_error)?;
        let public = key.public_key().ok_or_else(|| io::Error::other("a key without a half"))?;
        let public = public.as_ref().to_vec();
        let shown = vec![CertificateDer::from(public.clone())];
        let shown = Arc::new(CertifiedKey::new(shown, key));
        let algorithms = provider.signature_verification_algorithms;
        let believed = Arc::new(SameKey { public, algorithms });
        Ok(TlsIdentity {
            client: Arc::new(client_config(&provider, &believed, &shown)?),
            server: Arc::new(server_config(&provider, &believed, &shown)?),
        })
    }
}

fn tls_error(error: Error) -> io::Error {
    io::Error::other(error)
}

fn client_config(
    provider: &Arc<CryptoProvider>,
    believed: &Arc<SameKey>,
    shown: &Arc<CertifiedKey>,
) -> io::Result<ClientConfig> {
    let shown = AlwaysResolvesClientRawPublicKeys::new(Arc::clone(shown));
    let mut config = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&version::TLS13])
        .map_err(tls_error)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::<SameKey>::clone(believed))
        .with_client_cert_resolver(Arc::new(shown));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.enable_sni = false;
    // Connections are kept; a new one proves itself anew.
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn server_config(
    provider: &Arc<CryptoProvider>,
    believed: &Arc<SameKey>,
    shown: &Arc<CertifiedKey>,
) -> io::Result<ServerConfig> {
    let shown = AlwaysResolvesServerRawPublicKeys::new(Arc::clone(shown));
    let mut config = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&version::TLS13])
        .map_err(tls_error)?
        .with_client_cert_verifier(Arc::<SameKey>::clone(believed))
        .with_cert_resolver(Arc::new(shown));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// Believes who signs by the key of the token, and nobody else.
#[derive(Debug)]
struct SameKey {
    /// As X.509 writes a public key (SubjectPublicKeyInfo).
    public: Vec<u8>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl SameKey {
    fn compare_key(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        match shown.as_ref() == self.public {
            true => Ok(()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn check_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(shown.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
    }
}

/// Only TLS 1.3 is spoken.
fn refuse_tls12() -> Result<HandshakeSignatureValid, Error> {
    Err(Error::General("TLS 1.2 is not spoken".to_owned()))
}

impl ServerCertVerifier for SameKey {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.compare_key(shown).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        refuse_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for SameKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.compare_key(shown).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        refuse_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
