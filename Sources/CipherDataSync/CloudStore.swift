import Foundation
import ObjectStore
import SyncCore
import SyncCrypto
import SyncEngine
import SyncHub
import Synchronization

/// One synchronized store of a container: its service, as soon as this process has the right to synchronize it.
final class CloudStore: Sendable {
  let store: PersistentStore
  let coordinator: PersistentStoreCoordinator
  let options: CloudOptions
  private let send: @Sendable (CloudEvent) -> Void

  private struct State {
    var service: SyncService?
    /// The task that synchronizes, or waits for the right to do so.
    var supervision: Task<Void, Never>?
  }
  private let state = Mutex(State())

  /// The time between attempts to take over from another process, in seconds.
  private static let takeoverInterval = 1.0

  init(
    _ store: PersistentStore, of coordinator: PersistentStoreCoordinator, _ options: CloudOptions,
    _ send: @escaping @Sendable (CloudEvent) -> Void
  ) {
    (self.store, self.coordinator, self.options, self.send) = (store, coordinator, options, send)
  }

  // MARK: Setup

  func createAccount(_ key: AccountRecoveryKey) async throws {
    try await begin {
      try await SyncService.start(store, of: coordinator, hubPath: options.hubURL.path, recoveryKey: key, deviceName: options.deviceName)
    }
  }

  func joinAccount(_ key: AccountRecoveryKey) async throws {
    try await begin {
      try await SyncService.join(store, of: coordinator, hubPath: options.hubURL.path, recoveryKey: key, deviceName: options.deviceName)
    }
  }

  func begin(_ setup: () async throws -> SyncService) async throws {
    let start = Date()
    do {
      let service = try await setup()
      state.withLock { $0.service = service }
      send(CloudEvent(.setup, of: store.identifier, began: start))
    } catch {
      let error = SyncError.converting(error, path: store.url?.path)
      send(CloudEvent(.setup, of: store.identifier, began: start, error: error))
      throw error
    }
    supervise()
  }

  /// Synchronizes from now on, if the store was set up.
  func resume() async throws {
    do {
      let service = try await resumedService()
      state.withLock { $0.service = service }
    } catch let error as SyncError where error.code == .notSynchronized { return }
    supervise()
  }

  /// Returns the service, or nil if another process synchronizes the store.
  private func resumedService() async throws -> SyncService? {
    do { return try await SyncService.resume(store, of: coordinator, hubPath: options.hubURL.path) } catch let error as SyncError
      where error.code == .busy
    { return nil }
  }

  private func supervise() {
    let supervision = Task { [weak self] in
      while !Task.isCancelled {
        guard let self else { return }
        if let service = await currentService() {
          for await update in service.watch() {
            for event in CloudEvent.events(of: update, store: store.identifier) { send(event) }
          }
        } else {
          try? await Task.sleep(for: .seconds(Self.takeoverInterval))
        }
      }
    }
    let former = state.withLock { state in
      defer { state.supervision = supervision }
      return state.supervision
    }
    former?.cancel()
  }

  private func currentService() async -> SyncService? {
    if let service = state.withLock({ $0.service }) { return service }
    guard let service = (try? await resumedService()) ?? nil else { return nil }
    state.withLock { $0.service = service }
    return service
  }

  /// Ends synchronization by this process.
  func end() {
    let former = state.withLock { state in
      defer { state = State() }
      return state
    }
    former.supervision?.cancel()
    former.service?.end()
  }

  // MARK: State

  /// Runs a round now. If another process synchronizes the store, waits until it has sent everything.
  func synchronize() async throws {
    if let service = await currentService() {
      do { try await service.synchronize() } catch { throw SyncError.converting(error, path: store.url?.path) }
      return
    }
    while try await status().pendingSaves > 0 {
      try Task.checkCancellation()
      try await Task.sleep(for: .seconds(Self.takeoverInterval))
    }
  }

  func status() async throws -> SyncStatus {
    if let service = state.withLock({ $0.service }) { return try await service.status() }
    return try StoreReplica(store, of: coordinator).status()
  }

  func verify() async throws -> Bool {
    guard let service = await currentService() else { throw SyncError(.busy, path: store.url?.path) }
    do { return try await service.verify().isEqual } catch { throw SyncError.converting(error, path: store.url?.path) }
  }

  func leave() async throws {
    guard let service = await currentService() else { throw SyncError(.busy, path: store.url?.path) }
    state.withLock { $0.supervision }?.cancel()
    try await service.leave()
    end()
  }
}
