#if PostgreSQL
    package import StoragePostgreSQL

    /// The role of a node among several on one database, as a pure machine.
    ///
    /// The owner holds a lock of the database. Every other node follows it, and takes the lock when it is free. The
    /// lock does not protect the data: each transaction is fenced (`PostgresFence`).
    package struct NodeMachine: Sendable {
        package enum State: Sendable, Equatable {
            case following
            /// Opens the database to own it.
            case opening
            case owning
            /// Stops serving, because another process may own the database by now.
            case resigning
            /// Takes the database no more, because the process stops.
            case left
        }

        package enum Action: Sendable, Equatable {
            /// Opens the database, and serves.
            case open
            case resign
            /// Ends the sessions of an owner that is silent.
            case expel(Int64)
            /// Passes requests on to this node; `nil`: to none.
            case follow(NodeSighting?)
        }

        /// Time by which the silence of an owner must grow until it is taken for dead. After a stall of the database,
        /// every node has been silent.
        package static let doubt = Duration.seconds(1)
        /// Time between two looks at the other nodes.
        package static let beat = Duration.milliseconds(500)

        package let me: Int64
        package private(set) var state = State.following
        /// Owner that was silent when it was looked at, and for how long.
        private var suspect: (number: Int64, silence: Duration)?

        package init(me: Int64) {
            self.me = me
        }

        /// Takes what the database knows.
        ///
        /// - Parameter before: The state when the database was asked.
        package mutating func saw(_ seen: NodesSeen, before: State) -> [Action] {
            let owner = seen.owner
            switch state {
            case .owning:
                guard before == .owning, owner?.number != me else { return [.follow(nil)] }
                state = .resigning
                return [.resign]
            case .opening, .resigning, .left: return [.follow(Self.other(owner, me))]
            case .following:
                if let owner = Self.other(owner, me) {
                    return isDead(owner) ? [.follow(owner), .expel(owner.number)] : [.follow(owner)]
                }
                suspect = nil
                guard !seen.isServed else { return [.follow(nil)] }
                state = .opening
                return [.follow(nil), .open]
            }
        }

        private mutating func isDead(_ owner: NodeSighting) -> Bool {
            guard owner.silence > NodeSettings.silence else {
                suspect = nil
                return false
            }
            if let suspect, suspect.number == owner.number {
                return owner.silence >= suspect.silence + Self.doubt
            }
            suspect = (owner.number, owner.silence)
            return false
        }

        private static func other(_ owner: NodeSighting?, _ me: Int64) -> NodeSighting? {
            owner?.number == me ? nil : owner
        }

        /// The database was opened, and this node serves.
        package mutating func opened() { if state == .opening { state = .owning } }

        /// The database was not opened, or this node serves no more.
        package mutating func closed() { if state != .left { state = .following } }

        /// The process stops.
        package mutating func leave() { state = .left }
    }
#endif
