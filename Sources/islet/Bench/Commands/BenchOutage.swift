import ArgumentParser

/// The `islet bench outage` command, which measures what waiting for APNs costs.
struct BenchOutage: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outage",
        abstract: "Changes activities while the simulator's APNs answers 503, and measures what waiting costs.",
        discussion: """
            Activities of one phone each. The first minute of the outage, or as long as is measured, is left out: the \
            circuit opens in it. Checked: when APNs answers again, every phone gets the newest state with one push.
            """)

    @OptionGroup var options: BenchOptions
    @OptionGroup var streams: BenchStreams
    @Option(help: "The number of activities that wait.") var activities = 100_000
    @Option(help: "Minutes of the outage that are measured.") var minutes = 3.0

    func validate() throws {
        guard 10...1_000_000 ~= activities, 0.01...600 ~= minutes else {
            throw ValidationError("--activities is 10 to 1000000, --minutes 0.01 to 600")
        }
    }

    func run() async throws {
        let (activities, minutes, streams) = (activities, minutes, streams.streams)
        let row = try await BenchStage.with(options) { bench in
            let population = Population(activities: activities, phones: 1)
            _ = try await Fanout(bench: bench, population: population, streams: streams).register()
            return try await Outage(bench: bench, population: population, streams: streams, minutes: minutes).run()
        }
        try BenchReport.publish([row], to: options.json)
    }
}
