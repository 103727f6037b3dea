import Foundation
import ObjectContext
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import _FaultInjection
import _ProofStore
import _StoreSpecification
import _TestSupport

/// One process of a round. It performs steps on a store, and records them in a journal that survives it.
final class KillActor {
  let round: KillRound
  let order: KillOrder
  var settings: ProofSettings
  var random: SeededGenerator
  private let journal: Int32
  private var store: OpenStore?
  /// The titles of the process's films in order of creation, from completed steps only.
  var titles: [String] = []
  private var lastTitle = 0
  var passphrase: String?
  /// A plaintext copy that this process has made.
  var plainCopy: String?

  init(_ round: KillRound, _ order: KillOrder) {
    self.round = round
    self.order = order
    settings = round.settings
    random = SeededGenerator(seed: order.seed)
    journal = open(round.journal(order.number).path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    fault_watch(round.storeFolder.path)
    // The process is killed, not the system: data passed to the system survives without syncs.
    fault_let_syncs_pass(false)
  }

  /// Runs all steps, and exits.
  func run() -> Never {
    if case .call(let call, let number, let isHalfway) = order.blow {
      let error = isHalfway ? fault_kill_halfway : fault_kill
      fault_arm(fault_plan(call: call.code, first: UInt64(number), times: 1, error: Int32(error)))
    }
    do {
      for _ in 0..<order.steps { try step() }
      try close()
    } catch {
      write(.failed("\(error)"))
      exit(3)
    }
    exit(0)
  }

  private func write(_ line: KillLine) {
    guard var bytes = try? JSONEncoder().encode(line) else { return }
    bytes.append(0x0A)
    _ = bytes.withUnsafeBytes { Foundation.write(journal, $0.baseAddress, $0.count) }
  }

  /// Performs a step and records it in the journal. If another process prevents the step, it must change nothing.
  func step(_ step: KillStep, _ body: () throws -> Void) throws -> Bool {
    write(.begun(step))
    do { try body() } catch let error as StoreError where Self.isBusy(error) {
      write(.refused("\(error.code)"))
      return false
    }
    write(.done)
    return true
  }

  /// Whether the error means that another process interfered and the step can be retried.
  private static func isBusy(_ error: StoreError) -> Bool { error.code == .busy }

  /// Returns the open store. Another process may have migrated it.
  func openStore() throws -> OpenStore {
    if let store { return store }
    for _ in 0..<400 {
      do {
        let opened = try settings.open(round.store)
        store = opened
        return opened
      } catch let error as StoreError {
        switch error.code {
        case .busy: usleep(5_000)
        case .storeNewerThanModel, .backwardMigration, .modelIncompatible:
          guard settings.model == 1 else { throw error }
          settings.model = 2
        default: throw error
        }
      }
    }
    return try settings.open(round.store)
  }

  func close() throws {
    try store?.close()
    store = nil
  }

  /// Runs `body` with the open store, and again if the store was migrated meanwhile.
  func withStore(_ body: (OpenStore) throws -> Void) throws {
    do { try body(openStore()) } catch let error as StoreError where error.code == .modelIncompatible && settings.model == 1 {
      try close()
      settings.model = 2
      try body(openStore())
    }
  }

  /// Returns titles that were never used.
  func newTitles(_ count: Int) -> [String] {
    defer { lastTitle += count }
    return (0..<count).map { "p\(order.number).\(lastTitle + $0)" }
  }

  private func step() throws {
    switch order.role {
    case .save: try save()
    case .batch: try batch()
    case .visit:
      try save()
      try close()
    case .passphrase: try changePassphrase()
    case .rotate: try rotate()
    case .compact: try compact()
    case .backUp: try backUp()
    case .migrate:
      settings.model = 2
      try save(migrates: true)
    case .purge: try Bool.random(using: &random) ? purge() : save()
    case .tool: try useTool()
    case .toolKeys: try changeKeysByTool()
    case .toolMigrate: try migrateByTool()
    case .toolHistory: try changeHistoryByTool()
    case .toolReplace: try replaceByTool()
    case .toolRemove: try removeByTool()
    case .look: try look()
    }
  }
}
