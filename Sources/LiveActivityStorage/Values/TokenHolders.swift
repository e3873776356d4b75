package import LiveActivityCore

/// Devices that have tokens, by kind of token.
package struct TokenHolders: Sendable, Equatable {
    package var pushToStart: Set<DeviceKey> = []
    package var device: Set<DeviceKey> = []

    package init() {}
}
