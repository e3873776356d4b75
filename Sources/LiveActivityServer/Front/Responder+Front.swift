import APNSModel
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging

extension Responder {
    /// An error that occurs if an answer was not written to its end.
    private struct BrokenOff: Error {}

    /// Returns the function that answers the requests of a connection.
    func answering(_ time: TimeSource, _ logger: Logger) -> HTTPChannelHandler.Responder {
        let date = DateHeader()
        return { request, writer, channel in
            // An error thrown here comes from the connection: unreadable HTTP is answered with 400 there.
            var response = try await respond(to: request, from: AddressRoom.label(channel.remoteAddress))
            response.headers[.date] = date.text(at: time.wall())
            do {
                try await writer.write(response: response.head, body: response.body)
            } catch {
                // Not the original error, because an answer has begun and no other may follow it.
                throw BrokenOff()
            }
        }
    }
}
