import Foundation

enum ProcessEnvironment {
    static func value(of name: String) -> String? { ProcessInfo.processInfo.environment[name] }
}
