import ArgumentParser
import Foundation
import SyncCore
import SyncCrypto
import SyncEngine

extension SyncCommand {
  /// `sync join`.
  struct Join: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Add a store of the same model to an account, and receive the objects.",
      discussion: """
        The account is entered with its recovery key, or with the approval of a device that belongs to it. The key is read from the first \
        line of the file, from the variable CIPHERDATA_RECOVERY_KEY, or with “--recovery -” from a prompt. Without a key, the command \
        prints a code of six digits as soon as “cipherdata sync approve” runs on an existing device. If both print the same code, answer \
        the questions there and here with y. Different codes mean that something between the devices attacks them.

        The store must exist; a new one is enough (cipherdata create). Objects that it contains are added to those of the other devices. \
        If the command is interrupted, run it again.
        """)

    @OptionGroup var store: StoreOptions
    @Option(help: ArgumentHelp("The hub's file.", valueName: "hub"), completion: .file()) var hub: String
    @Option(help: ArgumentHelp("The file with the recovery key; - for a prompt.", valueName: "file"), completion: .file())
    var recovery: String?
    @Option(help: ArgumentHelp("The account's ID, if the hub has several accounts and there is no recovery key.", valueName: "UUID"))
    var account: String?
    @OptionGroup var timeout: JoinTimeout
    @OptionGroup var device: DeviceOptions

    func validate() throws {
      try SyncCommand.checkHub(hub)
      if let account, UUID(uuidString: account) == nil {
        throw ValidationError("--account takes a UUID, as “cipherdata sync status” prints it.")
      }
      if account != nil, recovery != nil { throw ValidationError("--account is part of the recovery key: give one of the two.") }
    }

    func run() async throws {
      guard try PathCheck.isTaken(store.store) else {
        throw ToolError(
          .noInput,
          "There is no store at \(store.store). Create one with the same model first: cipherdata create \(store.store) --model MODEL.")
      }
      let synced = try await SyncedContainer(try await store.unlock())
      try await synced.run { try await join(synced) }
    }

    private func join(_ synced: SyncedContainer) async throws {
      let service = try await joinedBefore(synced) ? synced.resume() : usesKey ? joinWithKey(synced) : joinWithApproval(synced)
      let round = try await SyncCommand.firstRound(service, "Joining", store: store.store)
      let name = TableWriter.printable(try synced.status().device)
      Tool.note("\(store.store) has joined the account on \(hub) as “\(name)”: \(SyncText.summary(round)).")
    }

    /// Returns whether this command has joined the account before, and may have been interrupted afterwards.
    ///
    /// - Throws: ``SyncError`` if the store cannot join.
    private func joinedBefore(_ synced: SyncedContainer) async throws -> Bool {
      if try synced.isSynchronized(through: hub) {
        if try usesKey ? synced.isSynchronized(byAccountWith: readKey()) : synced.hasJustJoined() { return true }
      }
      try synced.checkCanBegin()
      return false
    }

    private func readKey() throws -> AccountRecoveryKey { try RecoveryKeyFile.read(recovery == "-" ? nil : recovery) }

    private var usesKey: Bool { recovery != nil || RecoveryKeyFile.isInEnvironment }
    private var hubPath: String { URL.path(hub).path }

    private func joinWithKey(_ synced: SyncedContainer) async throws -> SyncService {
      try await SyncService.join(
        synced.store, of: synced.coordinator, hubPath: hubPath, recoveryKey: readKey(), deviceName: device.name)
    }

    private func joinWithApproval(_ synced: SyncedContainer) async throws -> SyncService {
      let id = account.flatMap(UUID.init(uuidString:)).map { RecordID($0) }.map { AccountID(high: $0.high, low: $0.low) }
      let attempt = try await SyncService.requestToJoin(
        synced.store, of: synced.coordinator, hubPath: hubPath, account: id, deviceName: device.name, timeout: timeout.duration)
      do {
        Tool.note("Waiting for a device of the account. On it, run: cipherdata sync approve STORE")
        let code = try await attempt.code()
        let sink = OutputSink()
        try sink.line("Code: \(code)")
        // Output must appear immediately.
        try sink.flush()
        guard try await isSame(code, attempt) else {
          throw ToolError(.failure, "The codes differ: \(store.store) has not joined, and nothing was changed.")
        }
        Tool.note("Waiting for the approval on the other device.")
        return try await attempt.complete()
      } catch {
        await attempt.cancel()
        throw error
      }
    }

    /// Asks whether the codes are equal. A refusal on the other device ends the question.
    private func isSame(_ code: JoinCode, _ attempt: JoinAttempt) async throws -> Bool {
      try await withThrowingTaskGroup(of: Bool?.self) { group in
        group.addTask { try await Question.ask("Does the other device show the code \(code)?") }
        group.addTask {
          try await attempt.waitForApproval()
          return nil
        }
        defer { group.cancelAll() }
        while let answer = try await group.next() { if let answer { return answer } }
        return false
      }
    }
  }
}

/// How long a command waits for another device.
struct JoinTimeout: ParsableArguments {
  @Option(help: ArgumentHelp("How long to wait for the other device, from 1 to 600 seconds.", valueName: "seconds"))
  var timeout = 600

  var duration: Duration { .seconds(timeout) }

  func validate() throws {
    if !(1...600).contains(timeout) { throw ValidationError("--timeout takes a number of seconds from 1 to 600.") }
  }
}
