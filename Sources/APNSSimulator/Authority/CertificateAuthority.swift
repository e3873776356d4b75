internal import APNSModel
internal import Crypto
internal import Foundation
internal import NIOSSL
internal import SwiftASN1
internal import X509

/// The certificate authority of one simulator, with the server certificate it signed.
struct CertificateAuthority: Sendable {
    /// The authority's certificate as PEM text, which a client has to trust.
    let caPEM: String
    private let leafPEM: String
    private let leafKeyPEM: String

    /// Creates a certificate for `localhost`, `127.0.0.1`, `::1` and the given host names.
    ///
    /// Its validity uses real time and not the simulator's, because TLS clients check it against their own clock.
    init(hosts: [String] = []) throws {
        let now = Date()
        let authorityKey = P256.Signing.PrivateKey()
        let leafKey = P256.Signing.PrivateKey()
        let authorityName = try DistinguishedName { CommonName("APNs Simulator CA") }
        let leafName = try DistinguishedName { CommonName("localhost") }
        let authority = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(authorityKey.publicKey),
            notValidBefore: now.addingTimeInterval(-86_400), notValidAfter: now.addingTimeInterval(30 * 86_400),
            issuer: authorityName, subject: authorityName, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true))
            },
            issuerPrivateKey: .init(authorityKey))
        let names = SubjectAlternativeNames(
            [
                .dnsName("localhost"), .ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1])),
                .ipAddress(ASN1OctetString(contentBytes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])),
            ] + hosts.map { .dnsName($0) })
        let leaf = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(leafKey.publicKey),
            notValidBefore: now.addingTimeInterval(-86_400), notValidAfter: now.addingTimeInterval(30 * 86_400),
            issuer: authorityName, subject: leafName, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                names
            },
            issuerPrivateKey: .init(authorityKey))
        caPEM = try Self.text(authority)
        leafPEM = try Self.text(leaf)
        leafKeyPEM = leafKey.pemRepresentation
    }

    /// Returns a TLS context for TLS 1.2 or later with `h2` only, as APNs has it.
    func serverContext() throws -> NIOSSLContext {
        let certificate = try NIOSSLCertificate(bytes: Array(leafPEM.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(leafKeyPEM.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)], privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2"]
        return try NIOSSLContext(configuration: configuration)
    }

    /// Returns a certificate as PEM text with a final newline. `pemString` has none, and two such texts in a row are
    /// not a valid PEM file.
    private static func text(_ certificate: Certificate) throws -> String {
        let text = try certificate.serializeAsPEM().pemString
        return text.hasSuffix("\n") ? text : text + "\n"
    }
}
