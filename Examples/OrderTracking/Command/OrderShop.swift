public import ArgumentParser
import BackendCalls
import JSONText
public import OrderTracking

/// The shop's backend in a terminal: `order-shop report 12345 delivering --eta 5`.
@main
struct OrderShop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "order-shop",
        abstract: "Reports the status of an order; phones show it.",
        discussion: "The API key is read from the environment variable ISLET_KEY.",
        subcommands: [Report.self, Look.self])

    struct Connection: ParsableArguments {
        @Option(help: "Where the Islet server is.")
        var islet = "http://127.0.0.1:8080"

        func shop() throws -> Shop {
            guard let key = BackendKey.fromEnvironment else {
                throw ValidationError("set ISLET_KEY to an API key: `islet keys create --app … --scope backend`")
            }
            return Shop(islet: islet, key: key)
        }
    }

    struct Report: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Reports where an order is.")

        @OptionGroup var connection: Connection
        @Argument(help: "The order's number.") var order: String
        @Argument(help: "preparing, ready, picked_up, delivering or delivered.") var status: OrderStatus
        @Option(help: "Minutes until the door.") var eta: Int?
        @Option(help: "Who follows it; may be given more than once.") var person: [String] = ["alice"]
        @Option(help: "Where it comes from.") var restaurant = "Da Mario"

        func run() async throws {
            let order = Shop.Order(id: order, restaurant: restaurant, people: person)
            let answer = try await connection.shop().report(order, status, eta: eta)
            print(answer.summary)
            if answer.status != 200 { throw ExitCode.failure }
        }
    }

    struct Look: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Shows what the server knows of an order.")

        @OptionGroup var connection: Connection
        @Argument(help: "The order's number.") var order: String

        func run() async throws {
            let answer = try await connection.shop().look(at: Shop.Order(id: order, restaurant: "", people: []))
            print(answer.body.prettyText)
            if answer.status != 200 { throw ExitCode.failure }
        }
    }
}

extension OrderStatus: ExpressibleByArgument {}
