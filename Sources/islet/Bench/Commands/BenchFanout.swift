import ArgumentParser
import EmbeddedIslet

/// The `islet bench fanout` command, which measures the cost of bringing a change to phones.
struct BenchFanout: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanout",
        abstract: "Changes the state of activities, and measures what the server needs until every phone holds it.",
        discussion: """
            Without --activities and --phones: 1 activity of 100,000 phones, and 100,000 activities of one phone each. \
            The pushes are updates of live cards at low priority. With --storage each row is run a second time, with \
            the server on PostgreSQL. Its processes' time is not the server's, and not in the figures. With --channel \
            each row is run a second time, with all cards of an activity on a broadcast channel. At most 1,000 \
            activities then, so the row of 100,000 is left out.
            """)

    @OptionGroup var options: BenchOptions
    @OptionGroup var streams: BenchStreams
    @Option(help: "The number of activities of the one row.") var activities: Int?
    @Option(help: "The number of phones of each activity.") var phones: Int?
    @Flag(help: "Adds a row of 1 activity with 1,000,000 phones.") var million = false

    @Flag(help: "Runs each row a second time, with the cards on broadcast channels.") var channel = false

    @Option(help: "A PostgreSQL database such as postgres://islet@localhost/postgres; the rows get ones beside it.")
    var storage: String?

    private static let maximumPhones = 1_000_000
    /// Maximum number of activities with a channel each. Their channels are asked for one after the other.
    private static let maximumChannels = 1000

    func validate() throws {
        if let storage, !DatabaseLocation.isURL(storage) {
            throw ValidationError("--storage is a URL such as postgres://islet@localhost/postgres")
        }
        for row in rows {
            guard row.activities > 0, row.phones > 0,
                row.activities.multipliedReportingOverflow(by: row.phones).partialValue <= Self.maximumPhones,
                row.activities <= Self.maximumPhones, row.phones <= Self.maximumPhones
            else { throw ValidationError("--activities times --phones is 1 to \(Self.maximumPhones)") }
            guard !channel || row.activities <= Self.maximumChannels else {
                throw ValidationError("--channel takes 1 to \(Self.maximumChannels) activities, not \(row.activities)")
            }
        }
    }

    private var rows: [(activities: Int, phones: Int)] {
        if activities != nil || phones != nil { return [(activities ?? 1, phones ?? 1)] }
        var standard = [(activities: 1, phones: 100_000)]
        if !channel { standard.append((activities: 100_000, phones: 1)) }
        if million { standard.append((activities: 1, phones: 1_000_000)) }
        return standard
    }

    func run() async throws {
        var figures: [FanoutRow] = []
        let servers = [nil] + (storage.map { [DatabaseLocation($0)] } ?? [])
        let routes: [FanoutRoute] = channel ? [.token, .channel] : [.token]
        for row in rows {
            for server in servers {
                for route in routes {
                    let population = Population(activities: row.activities, phones: row.phones, route: route)
                    figures.append(try await measure(population, on: server))
                }
            }
        }
        try BenchReport.publish(figures, to: options.json)
    }

    private func measure(_ population: Population, on server: DatabaseLocation?) async throws -> FanoutRow {
        let place = server.map { " on \($0)" } ?? ""
        Progress.say("\(population.activities) × \(population.phones) by \(population.route.rawValue)\(place)")
        let streams = streams.streams
        return try await BenchStage.with(options, on: server, play: population.route.play) { bench in
            let fanout = Fanout(bench: bench, population: population, streams: streams)
            let registration = try await fanout.register()
            var figures = FanoutRow(population, registration, try await fanout.change(population.activities))
            figures.storage = server == nil ? "sqlite" : "postgresql"
            return figures
        }
    }
}

/// Option for the number of concurrent batches of calls.
struct BenchStreams: ParsableArguments {
    @Option(help: "The batches of calls on their way at the same time.") var streams = 4

    func validate() throws {
        guard 1...LoadCaller.maximumStreams ~= streams else {
            throw ValidationError("--streams is 1 to \(LoadCaller.maximumStreams), not \(streams)")
        }
    }
}
