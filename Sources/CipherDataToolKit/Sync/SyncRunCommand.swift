import ArgumentParser
import Foundation
import ObjectStore
import SyncEngine

extension SyncCommand {
  /// `sync run`.
  struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Send what was saved, and receive what other devices have sent: once, or until stopped.",
      discussion: """
        With --watch, saves of any process and commits of other devices are synchronized as they occur, with a line for each round that \
        does something. After an error it tries again, up to once a minute. Ctrl-C stops it. One process at a time synchronizes a store: \
        --watch waits until another one ends.
        """)

    @OptionGroup var store: StoreOptions
    @Flag(help: "Continue to synchronize until Ctrl-C.") var watch = false
    @Option(help: ArgumentHelp("The path of the hub, if it was moved. The store keeps it.", valueName: "hub"), completion: .file())
    var hub: String?
    @Flag(help: "Create the hub again if its file was lost. The other devices then continue with it.") var createHub = false

    func validate() throws { if let hub { try SyncCommand.checkHub(hub) } }

    func run() async throws {
      let synced = try await SyncedContainer(try await store.unlock(), observesSaves: watch)
      try await watch ? keepSynchronizing(synced) : synchronize(synced)
    }

    private func synchronize(_ synced: SyncedContainer) async throws {
      let progress = RoundProgress("Synchronizing")
      defer { progress.finish() }
      let round = try await synced.run { try await synced.resume(hub: hub, createsHub: createHub).synchronize(progress: progress.handler) }
      progress.finish()
      let sink = OutputSink()
      try sink.line(SyncText.summary(round))
      try sink.flush()
    }

    private func keepSynchronizing(_ synced: SyncedContainer) async throws {
      do { try await synced.run { try await follow(synced) } } catch is CancellationError {
        throw ExitCode(ExitStatus.interrupted.rawValue)
      }
    }

    /// Synchronizes until the task is canceled.
    private func follow(_ synced: SyncedContainer) async throws {
      let service = try await waitForTurn(synced)
      let sink = OutputSink()
      for await update in service.watch() {
        switch update {
        case .round(let round, _):
          SyncText.noteNewDevice(round.newDeviceName)
          try sink.line("\(SyncText.time(Date()))  \(SyncText.summary(round))")
          // Output must appear immediately.
          try sink.flush()
        // Only a process that opens the store again sees its new model.
        case .failure(let error as StoreError, _, _) where error.code == .modelIncompatible: throw error
        case .failure(let error, _, let delay):
          Tool.note("\(ExitReport(error).message) The next attempt is in \(Int(delay)) s.")
        }
      }
      try Task.checkCancellation()
    }

    /// Resumes the service as soon as no other process synchronizes the store.
    private func waitForTurn(_ synced: SyncedContainer) async throws -> SyncService {
      var isNoted = false
      while true {
        do { return try await synced.resume(hub: hub, createsHub: createHub) } catch let error as SyncError where error.code == .busy {
          if !isNoted { Tool.note("Another process synchronizes \(store.store). This one takes over when that process ends.") }
          isNoted = true
        }
        try await Task.sleep(for: .seconds(1))
      }
    }
  }
}
