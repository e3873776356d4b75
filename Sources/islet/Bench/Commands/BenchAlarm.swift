import ArgumentParser

/// The `islet bench alarm` command, which measures how soon the server reports that states are late.
struct BenchAlarm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "alarm",
        abstract: "Starts cards while the simulator's APNs stops answering, and reports when the alert fires.",
        discussion: """
            An APNs that takes connections and answers nothing, in the middle of a rush. Checked: IsletLate fires \
            within 60 s of the first state that is late (10 s after it was set), not before APNs stops, and is over \
            once it answers again. docs/metrics.md describes the alerts.
            """)

    @OptionGroup var options: BenchOptions
    @OptionGroup var streams: BenchStreams
    @Option(help: "The number of cards to start, an activity each.") var starts = 30_000
    @Option(help: "The number of phones, each of a person of its own.") var phones = 12_000
    @Option(help: "Activities set in a second.") var rate = 250
    @Flag(help: "Ends when all are set and the alert has fired: APNs is not made well again.") var brief = false

    func validate() throws {
        guard 20...200_000 ~= starts, 10...200_000 ~= phones, starts <= 4 * phones, 4...5000 ~= rate else {
            throw ValidationError(
                "--starts is 20 to 200000 and at most four for each of the 10 to 200000 --phones, --rate 4 to 5000")
        }
    }

    func run() async throws {
        let (starts, phones, rate, streams, brief) = (starts, phones, rate, streams.streams, brief)
        let row = try await BenchStage.with(options) { bench in
            try await Alarm(bench: bench, starts: starts, phones: phones, rate: rate, streams: streams, isBrief: brief)
                .run()
        }
        try BenchReport.publish([row], to: options.json)
    }
}
