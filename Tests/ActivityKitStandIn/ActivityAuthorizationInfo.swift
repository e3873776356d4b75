// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public enum ActivityAuthorizationError: Error, Equatable {
    case attributesTooLarge, denied, globalMaximumExceeded, malformedActivityIdentifier, missingProcessIdentifier,
        persistenceFailure, reconnectNotPermitted, targetMaximumExceeded, unentitled, unsupported, unsupportedTarget,
        visibility
}

/// Not `Sendable`, like Apple's type.
public final class ActivityAuthorizationInfo {
    private let phone = StandInPhone.current

    public init() {}

    public var areActivitiesEnabled: Bool { phone.activitiesEnabled }

    public struct ActivityEnablementUpdates: AsyncSequence {
        public struct Iterator: AsyncIteratorProtocol {
            var values: AsyncStream<Bool>.Iterator

            @concurrent public mutating func next() async -> Bool? { await values.next() }
        }

        let values: AsyncStream<Bool>

        public func makeAsyncIterator() -> Iterator { Iterator(values: values.makeAsyncIterator()) }
    }

    public var activityEnablementUpdates: ActivityEnablementUpdates {
        phone.isToBeHeard(.enablement)
        return ActivityEnablementUpdates(values: phone.enablement.values)
    }
    public var frequentPushesEnabled: Bool { phone.frequentPushes }

    public struct FrequentPushEnablementUpdates: AsyncSequence {
        public struct Iterator: AsyncIteratorProtocol {
            var values: AsyncStream<Bool>.Iterator

            @concurrent public mutating func next() async -> Bool? { await values.next() }
        }

        let values: AsyncStream<Bool>

        public func makeAsyncIterator() -> Iterator { Iterator(values: values.makeAsyncIterator()) }
    }

    public var frequentPushEnablementUpdates: FrequentPushEnablementUpdates {
        phone.isToBeHeard(.frequency)
        return FrequentPushEnablementUpdates(values: phone.frequency.values)
    }
}
