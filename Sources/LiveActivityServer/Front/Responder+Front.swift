import APNSModel
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging

extension Responder {
    /// Why an answer was not written to its end.
    private struct BrokenOff: Error {}

    /// What a connection has its requests answered by.
    func answering(_ time: TimeSource, _ logger: Logger) -> HTTPChannelHandler.Responder {
        let date = DateHeader()
        return { request, writer, channel in
            // What is thrown here came of the connection: HTTP that cannot be read is answered with 400 there.
            var response = try await respond(to: request, from: AddressRoom.label(channel.remoteAddress))
            response.headers[.date] = date.text(at: time.wall())
            do {
                try await writer.write(response: response.head, body: response.body)
            } catch {
                // Not what it was: there is an answer already, and no other can follow it.
                throw BrokenOff()
            }
        }
    }
}
