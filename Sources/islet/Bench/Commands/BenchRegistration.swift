import ArgumentParser

/// The `islet bench registration` command, which measures the cost of a phone before any push.
struct BenchRegistration: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registration",
        abstract: "Registers many phones, each with a card, and changes one activity among them.",
        discussion: "The phones belong to activities of 1,000 phones each; the last may have fewer places than it.")

    @OptionGroup var options: BenchOptions
    @OptionGroup var streams: BenchStreams
    @Option(help: "The number of phones.") var devices = 1_000_000
    @Option(help: "The number of phones of each activity; it divides the number of phones.") var phones = 1000

    func validate() throws {
        guard 1...1_000_000 ~= devices, phones > 0, devices.isMultiple(of: phones) else {
            throw ValidationError("--devices is 1 to 1000000 and a multiple of --phones")
        }
    }

    func run() async throws {
        let (activities, phones, streams) = (devices / phones, phones, streams.streams)
        let row = try await BenchStage.with(options) { bench in
            let population = Population(activities: activities, phones: phones)
            let fanout = Fanout(bench: bench, population: population, streams: streams)
            let registration = try await fanout.register()
            return RegistrationRow(population, registration, try await fanout.change(1))
        }
        try BenchReport.publish([row], to: options.json)
    }
}

/// Figures of one run, with the names that programs read.
struct RegistrationRow: Encodable, Sendable {
    var devices: Int
    var registeredPerSecond: Double
    var cpuMicroseconds: Double
    var databaseMegabytes: Double
    var databaseBytesPerDevice: Double
    var startSeconds: Double
    var changedPhones: Int
    var changeSeconds: Double
    var changeCPUMilliseconds: Double
    var peakMegabytes: Double

    enum CodingKeys: String, CodingKey {
        case devices
        case registeredPerSecond = "registered_per_second"
        case cpuMicroseconds = "server_cpu_us_per_registration"
        case databaseMegabytes = "database_mb"
        case databaseBytesPerDevice = "database_bytes_per_device"
        case startSeconds = "start_seconds"
        case changedPhones = "changed_phones"
        case changeSeconds = "change_seconds"
        case changeCPUMilliseconds = "change_server_cpu_ms"
        case peakMegabytes = "peak_mb"
    }

    init(_ population: Population, _ registration: Fanout.Registration, _ change: Fanout.Change) {
        devices = population.total
        registeredPerSecond = (Double(population.total) / registration.seconds).digits(0)
        cpuMicroseconds = (registration.cpuSeconds / Double(population.total) * 1e6).digits(1)
        databaseMegabytes = registration.databaseBytes.megabytes
        databaseBytesPerDevice = (Double(registration.databaseBytes) / Double(population.total)).digits(0)
        startSeconds = registration.startSeconds.digits(2)
        changedPhones = change.pushes
        changeSeconds = change.seconds.digits(3)
        changeCPUMilliseconds = ((change.after.cpuSeconds - change.before.cpuSeconds) * 1000).digits(0)
        peakMegabytes = change.after.peakBytes.megabytes
    }
}
