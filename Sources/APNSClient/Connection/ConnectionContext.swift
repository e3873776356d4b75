import APNSModel
import Logging

/// The settings that the connections of one pool share.
struct ConnectionContext: Sendable {
    let endpoint: APNSClient.Endpoint
    let security: TransportSecurity
    let signer: ProviderTokenSigner
    let time: TimeSource
    let limits: ConnectionLimits
    let proxy: APNSClient.Proxy?
    let connectTimeout: Duration
    let writeTimeout: Duration
    let logger: Logger
    let dice: @Sendable () -> Double
    let dateReceived: (@Sendable (UnixTime) -> Void)?
}

/// The pool of a connection, which provides pushes and receives reports. Its methods are called on the connection's
/// event loop.
protocol ConnectionOwner: AnyObject, Sendable {
    func pull(
        _ connection: PoolMachine.ConnectionID, _ allowance: ConnectionMachine.Allowance, now: MonotonicTime,
        into batch: inout [Attempt])
    func requeue(_ attempts: [Attempt])
    func connectionHasRoom(_ connection: PoolMachine.ConnectionID)
    func connectionIsReady(_ connection: PoolMachine.ConnectionID)
    func connectionRetires(_ connection: PoolMachine.ConnectionID, wasUseful: Bool)
    func connectionEnded(_ connection: PoolMachine.ConnectionID, _ end: ConnectionEnd, wasUseful: Bool)
    func connectionRenewedToken(_ connection: PoolMachine.ConnectionID, issuedAt: UnixTime)
    func connectionReports(_ connection: PoolMachine.ConnectionID, _ status: APNSClient.ConnectionStatus)
}
