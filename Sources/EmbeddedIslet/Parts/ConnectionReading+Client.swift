package import APNSClient
import APNSModel
package import LiveActivityServer

extension ConnectionReading {
    /// Returns the state of the client's connections, summed by environment.
    ///
    /// Key ids and team ids are left out, because metrics must not contain them.
    package static func readings(of client: APNSClient, _ routes: [APNSClient.Route]) -> [ConnectionReading] {
        var readings: [APNSEnvironment: ConnectionReading] = [:]
        for status in client.status {
            let route = routes.first { $0.endpoint == status.endpoint && $0.key.keyID == status.keyID }
            guard let environment = route?.environment else { continue }
            var reading = readings[environment] ?? ConnectionReading(environment)
            reading.connections += status.isConnected ? 1 : 0
            reading.streams += status.openStreams
            reading.streamLimit += status.maximumStreams
            reading.queued += status.queued
            reading.clockSkew = [reading.clockSkew, status.clockSkew].compactMap(\.self)
                .max { $0.magnitude < $1.magnitude }
            readings[environment] = reading
        }
        return readings.values.sorted { $0.environment.rawValue < $1.environment.rawValue }
    }
}

extension Duration {
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}
