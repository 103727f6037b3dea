import ArgumentParser
import Foundation
import SyncCrypto
import SyncEngine

extension SyncCommand {
  /// `sync start`.
  struct Start: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Create an account with a recovery key, and send the store's objects.",
      discussion: """
        The hub is created unless it exists. The recovery key is written to a new file before the store is changed; every further store \
        needs it to join. The store records a history with values and stable IDs from now on. If the command is interrupted, run it again.
        """)

    @OptionGroup var store: StoreOptions
    @Option(help: ArgumentHelp("The hub's file, which is created unless it exists.", valueName: "hub"), completion: .file()) var hub: String
    @Option(help: ArgumentHelp("The file for the recovery key; it must not exist.", valueName: "file"), completion: .file())
    var recovery: String
    @OptionGroup var device: DeviceOptions

    func validate() throws {
      try SyncCommand.checkHub(hub)
      if recovery.isEmpty { throw ValidationError("--recovery takes the path of a file.") }
    }

    func run() async throws {
      // Report invalid paths before requesting a passphrase.
      try PathCheck.checkStore(store.store)
      let key = try RecoveryKeyFile.existingKey(recovery)
      let synced = try await SyncedContainer(try await store.unlock())
      try await synced.run { try await start(synced, key) }
    }

    /// - Parameter key: The key in the file, which a run that was interrupted can have written.
    private func start(_ synced: SyncedContainer, _ key: AccountRecoveryKey?) async throws {
      let service: SyncService
      if let key, try synced.isSynchronized(through: hub) && synced.isSynchronized(byAccountWith: key) {
        service = try await synced.resume()
      } else {
        try synced.checkCanBegin()
        if let key, try !synced.isCreatingAccount(with: key) { throw RecoveryKeyFile.exists(recovery) }
        let account = try await SyncService.newAccount(
          synced.store, of: synced.coordinator, hubPath: URL.path(hub).path, deviceName: device.name)
        try RecoveryKeyFile.write(account.recoveryKey, to: recovery)
        service = try await account.create()
      }
      let count = try await synced.objectCount()
      Tool.note("The recovery key is in \(recovery). Keep it apart from this device: it cannot be restored.")
      let round = try await SyncCommand.firstRound(service, "Sending", objectCount: count, store: store.store)
      Tool.note("\(store.store) is synchronized through \(hub): \(SyncText.summary(round)).")
    }
  }

  /// Runs the first round of a store that was set up. If it fails, a later round continues.
  static func firstRound(
    _ service: SyncService, _ title: String, objectCount: Int? = nil, store: String
  ) async throws -> SyncRunner.Round {
    let progress = RoundProgress(title, objectCount: objectCount)
    defer { progress.finish() }
    do { return try await service.synchronize(progress: progress.handler) } catch {
      progress.finish()
      Tool.note("\(store) is set up, but not everything was synchronized. Continue with: cipherdata sync run \(store)")
      throw error
    }
  }
}

extension DeviceOptions {
  /// The given name, or that of the host.
  var name: String { device ?? ProcessInfo.processInfo.hostName }
}
