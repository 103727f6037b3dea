import CipherData
import CipherDataSync
import Foundation
import _FaultInjection
import _ProofStore
import _TestSupport

/// A process of an application whose store is synchronized in the background while it saves.
final class SyncClientProcess {
  private let setting: SyncSetting
  private let device: SyncDevice
  private let process: Int
  private let log: SyncLogFile
  private var random: SeededGenerator
  private var events: Task<Void, Never>?

  init(_ order: SyncOrder, _ device: SyncDevice, _ log: SyncLogFile) {
    setting = SyncSetting(order.world)
    (self.device, self.log, process) = (device, log, order.process)
    random = SeededGenerator(seed: order.seed)
    fault_watch(order.world.files.path)
    // The process is killed, not the system: data passed to the system survives without syncs.
    fault_let_syncs_pass(false)
  }

  /// Creates the account, and keeps its recovery key.
  func createAccount() async throws {
    let container = try await setting.open(device)
    let file = setting.world.recoveryKey(account: device.account)
    try await container.createAccount { try Data($0.utf8).write(to: file, options: .atomic) }
    // The hub learns of the account in the first round.
    try await container.synchronize()
    try container.close()
  }

  /// Saves and synchronizes.
  func run(steps: Int, blow: KillBlow?, countsFromOpening: Bool) async throws {
    if !countsFromOpening { arm(blow) }
    var container = try await open()
    log.write(.opened)
    // Few processes live long enough for a second backup.
    let backupStep = Int.random(in: 1...20, using: &random)
    if countsFromOpening { arm(blow) }
    for number in 1...steps {
      switch Int.random(in: 0..<100, using: &random) {
      case ..<72:
        let step = SyncStep(log, seed: random.next())
        try await container.performBackgroundTask { try step.run(in: $0) }
      case ..<80: try await container.synchronize()
      case ..<82:
        close(container)
        container = try await open()
      default: try await Task.sleep(for: .milliseconds(Int.random(in: 1...80, using: &random)))
      }
      if number % 100 == backupStep { try await backUp() }
      if number % 3 == 0 { try await recordSent(container) }
    }
    try await container.waitUntilSynced()
    log.writeSent()
    close(container)
  }

  private func arm(_ blow: KillBlow?) {
    guard case .call(let call, let number, let isHalfway) = blow else { return }
    let error = isHalfway ? fault_kill_halfway : fault_kill
    fault_arm(fault_plan(call: call.code, first: UInt64(number), times: 1, error: Int32(error)))
  }

  private func open() async throws -> PersistentCloudContainer {
    let container = try await setting.openMember(device)
    // Only other processes make rounds fail, and they do so with locks, which are waited for.
    let (events, log) = (container.events(), log)
    self.events = Task {
      for await event in events {
        if let error = event.error { log.write(.failed("a round of synchronization failed: \(error)")) }
      }
    }
    return container
  }

  private func close(_ container: PersistentCloudContainer) {
    events?.cancel()
    do { try container.close() } catch { log.write(.failed("closing failed: \(error)")) }
  }

  /// Records whether the hub has all saves of this process.
  private func recordSent(_ container: PersistentCloudContainer) async throws {
    guard log.hasUnsentSaves, try await container.pendingCount == 0 else { return }
    log.writeSent()
  }

  private func backUp() async throws {
    let (begun, name) = (SyncLogFile.now, "\(device)-\(log.newNumber()).backup")
    try await setting.backUp(device, to: name)
    log.write(.backedUp(name, begunAt: begun))
  }
}
