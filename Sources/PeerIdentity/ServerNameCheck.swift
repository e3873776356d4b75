import NIOCore
import NIOSSL
import NIOTLS

/// Completes a handshake only if the peer's certificate names the requested host.
///
/// swift-nio-ssl also accepts a certificate for the *address* at the other end of the socket. Behind a proxy, that is
/// the proxy's address. After a forged DNS answer, it is the attacker's. So anybody with a certificate for their own
/// address could pass for the host. RFC 9525 section 6 compares with the requested host, whether it is a name or an
/// address.
final class ServerNameCheck: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let host: PeerHost

    init(_ host: PeerHost) {
        self.host = host
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            guard let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate(),
                Self.names(certificate, host)
            else {
                context.fireErrorCaught(PeerSecurity.WrongHost())
                return context.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    private static func names(_ certificate: NIOSSLCertificate, _ host: PeerHost) -> Bool {
        var hasAlternatives = false
        for alternative in certificate._subjectAlternativeNames() {
            hasAlternatives = true
            switch host {
            case .name(let name):
                guard alternative.nameType == .dnsName else { continue }
                if matches(String(decoding: alternative.contents, as: UTF8.self), name) { return true }
            case .address(let bytes):
                guard alternative.nameType == .ipAddress else { continue }
                if bytes.elementsEqual(alternative.contents) { return true }
            }
        }
        switch host {
        // For a certificate without alternative names, swift-nio-ssl has compared the common name with the host's name,
        // and with nothing else.
        case .name: return !hasAlternatives
        case .address: return false
        }
    }

    /// Returns whether a certificate's name matches a host name (RFC 9525 section 6.3). Case does not matter, and `*`
    /// stands for the whole first label.
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
