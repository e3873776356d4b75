package import LiveActivityCore

/// Devices that have tokens.
package struct TokenHolders: Sendable, Equatable {
    package var pushToStart: Set<DeviceKey> = []
    package var device: Set<DeviceKey> = []

    package init() {}
}
