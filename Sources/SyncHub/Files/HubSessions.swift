import Dispatch
import SQLCipherConnection
import StoreFiles
import StoreKeys

/// Opens a hub's file when it is needed: at the first request, and again after the file was replaced or a request has failed.
actor HubSessions {
  private let path: String
  private let key: StoreKey?
  private let options: HubOptions
  private var session: HubSession?
  private var opening: Task<HubSession, any Error>?
  private var isClosed = false

  /// - Parameter key: The hub's key; nil for the one in the file next to the hub.
  init(path: String, key: StoreKey?, options: HubOptions) { (self.path, self.key, self.options) = (path, key, options) }

  /// Returns the session of the file that is at the path now.
  func current() async throws -> HubSession {
    try checkOpen()
    if let session {
      if session.isCurrent { return session }
      release(session)
    }
    if let opening { return try await opening.value }
    // The task is not canceled with the request that has begun it, since others may wait for it.
    let task = Task { [path, key, options] in try await Self.open(path, key, options) }
    opening = task
    defer { opening = nil }
    let opened = try await task.value
    session = opened
    if isClosed { release(opened) }
    try checkOpen()
    return opened
  }

  /// Closes a session after a failure that may not be temporary, so that the next request opens the file again.
  func release(_ session: HubSession) {
    if self.session === session { self.session = nil }
    // Closing waits for running requests.
    DispatchQueue.global(qos: .utility).async { session.close() }
  }

  /// Closes the hub for good. Running requests complete before.
  func close() async {
    isClosed = true
    guard let session else { return }
    self.session = nil
    await withCheckedContinuation { continuation in
      DispatchQueue.global(qos: .userInitiated).async {
        session.close()
        continuation.resume()
      }
    }
  }

  private func checkOpen() throws {
    if isClosed { throw HubError(.closed, "The connection to the hub \(path) is closed.") }
  }

  private static func open(_ path: String, _ key: StoreKey?, _ options: HubOptions) async throws -> HubSession {
    if let key { return try await unlock(path, key, options) }
    let key = try existingKey(path)
    do { return try await unlock(path, key, options) } catch { throw HubKeyFile.converted(error, for: path) }
  }

  private static func unlock(_ path: String, _ key: StoreKey, _ options: HubOptions) async throws -> HubSession {
    let keyring = try await StoreKeyring.unlock(storePath: path, key: key, workLimit: options.keyWork)
    return try await HubQueue("CipherData.HubOpening", isSerial: true).run { _ in try HubSession(keyring, options) }
  }

  /// Reads the hub's key file. Errors of the hub's own file come first.
  private static func existingKey(_ path: String) throws -> StoreKey {
    let path = try StoreFile.absolutePath(path)
    try StoreReplacement.finish(path)
    try StoreFile.checkBeforeOpening(path)
    return try HubKeyFile.read(for: path)
  }

  // MARK: Creating

  /// Creates the hub's file unless it exists. Of several concurrent calls in any processes, one creates it.
  static func create(_ path: String, _ key: StoreKey?, _ options: HubOptions) async throws {
    let path = try StoreFile.absolutePath(path)
    try StoreReplacement.finish(path)
    if try StoreFile.exists(path, operation: .create) { return }
    try StoreFile.checkFolder(StoreFile.folder(of: path))
    let key = try key ?? HubKeyFile.create(for: path)
    do {
      _ = try await StoreKeyring.create(
        storePath: path, key: key, workLimit: options.keyWork, options: HubSession.connectionOptions,
        contents: .made { connection, _ in try HubMetadata.create(connection) })
    } catch let error as StoreAccessError where error.kind == .fileExists || error.kind == .keyFileExists {
      // Another process was first. A key file without a hub remains an error.
      guard StoreFile.exists(path) else { throw error }
    }
  }
}
