import APNSSimulator
import ArgumentParser

/// The `islet bench bad-day` command, which runs a server while everything at Apple fails.
struct BenchBadDay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bad-day",
        abstract: "Changes orders while the simulator's APNs fails in all of its ways, and reports what came of it.",
        discussion: """
            5xx, 429, one stream with slow answers, lost pushes and answers; then it is well again. Checked: in the \
            end every phone holds the newest state of its order, and what leaves after the faults is no more than \
            that takes. docs/simulator.md describes the profile.
            """)

    @OptionGroup var options: BenchOptions
    @Option(help: "How long the day is.") var minutes = 20.0
    @Option(help: "The number of orders.") var activities = 200
    @Option(help: "The number of phones of each.") var phones = 5
    @Option(help: "Changes a second, of one order after the other.") var rate = 20

    func validate() throws {
        guard 0.1...240 ~= minutes, 1...2000 ~= activities, 1...100 ~= phones, 1...1000 ~= rate else {
            throw ValidationError(
                "--minutes is 0.1 to 240, --activities 1 to 2000, --phones 1 to 100, --rate 1 to 1000")
        }
    }

    func run() async throws {
        let population = Population(activities: activities, phones: phones)
        let (rate, length) = (rate, Duration.seconds(minutes * 60))
        let rows = try await BenchStage.with(options) { bench in
            try await BadDay(bench: bench, population: population, rate: rate, length: length).run()
        }
        try BenchReport.publish(rows, to: options.json)
    }
}
