import NIOCore
import NIOSSL
import NIOTLS

/// Lets a handshake end only if the peer's certificate names the host that was meant.
///
/// swift-nio-ssl takes a certificate also for the *address* at the other end of the socket. Behind a proxy that is the
/// proxy's own, and after a forged DNS answer it is the forger's: whoever has a certificate for an address of his own
/// would be taken for APNs. RFC 9525 section 6 compares with what was asked for, and that is the name.
final class ServerNameCheck: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    struct WrongName: Error {}

    private let name: String

    init(_ name: String) {
        self.name = name
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            guard let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate(),
                Self.names(certificate, self.name)
            else {
                context.fireErrorCaught(WrongName())
                return context.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    private static func names(_ certificate: NIOSSLCertificate, _ name: String) -> Bool {
        var hasAlternatives = false
        for alternative in certificate._subjectAlternativeNames() {
            hasAlternatives = true
            guard alternative.nameType == .dnsName else { continue }
            if matches(String(decoding: alternative.contents, as: UTF8.self), name) { return true }
        }
        // Without any, swift-nio-ssl has compared the common name with the host's, and with nothing else.
        return !hasAlternatives
    }

    /// RFC 9525 section 6.3: letters in any case; a `*` stands for the whole first label.
    static func matches(_ pattern: String, _ name: String) -> Bool {
        func labels(_ text: String) -> [Substring] {
            let text = text.lowercased()
            return Array((text.hasSuffix(".") ? String(text.dropLast()) : text).split(separator: ".")[...])
        }
        let (wanted, given) = (labels(name), labels(pattern))
        guard !given.isEmpty, given.count == wanted.count else { return false }
        if given[0] == "*" { return given.count > 2 && given.dropFirst().elementsEqual(wanted.dropFirst()) }
        return given == wanted
    }
}
