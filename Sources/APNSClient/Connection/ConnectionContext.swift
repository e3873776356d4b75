import APNSModel
import Logging

/// What the connections of one pool have in common.
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

/// Where a connection gets its pushes from and reports to. Called on the connection's event loop.
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
