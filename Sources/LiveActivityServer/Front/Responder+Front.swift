import APNSModel
import HTTPTypes
import Hummingbird
import HummingbirdCore

extension Responder {
    /// An error that occurs if an answer was not written to its end.
    private struct BrokenOff: Error {}

    /// Returns the function that writes what `answer` returns.
    static func writing(
        _ time: TimeSource, _ answer: @escaping @Sendable (Request, String) async throws -> Answered
    ) -> HTTPChannelHandler.Responder {
        let date = DateHeader()
        return { request, writer, channel in
            // An error thrown here comes from the connection: unreadable HTTP is answered with 400 there.
            let answered = try await answer(request, AddressRoom.label(channel.remoteAddress))
            defer { withExtendedLifetime(answered.place) {} }
            var response = answered.response
            response.headers[.date] = date.text(at: time.wall())
            do {
                try await writer.write(response: response.head, body: response.body)
            } catch {
                // Not the original error, because an answer has begun and no other may follow it.
                throw BrokenOff()
            }
            // Its body may still be read by another task.
            guard answered.isComplete else { throw BrokenOff() }
        }
    }
}
