import Dispatch
import Foundation
package import StoreFiles
package import StoreKeys

extension StoreKeyring {
  private static let maximumAttempts = 3

  /// Creates a store: a random data key, an empty database and, for keys that use slots, a key file with one slot.
  ///
  /// After a crash at any point there is either no store or a complete one.
  ///
  /// - Parameters:
  ///   - format: The page format. A SQLCipher passphrase has its own.
  ///   - workLimit: The maximum cost of opening. A slot that exceeds it is rejected.
  ///   - isRemovable: Whether the keyring can remove the files again, until ``NewStore/end()``.
  package static func create(
    storePath: String, key: StoreKey, label: String = "", format: SQLCipherFormat = .portable, workLimit: KeyWorkLimit = KeyWorkLimit(),
    options: ConnectionOptions = ConnectionOptions(), contents: StoreContents = .empty, isRemovable: Bool = false,
    onOpen: @escaping @Sendable (Connection) throws -> Void = { _ in }, progress: ProgressHandler? = nil
  ) async throws -> StoreKeyring {
    let path = try StoreFile.absolutePath(storePath)
    @Sendable func prepare(_ key: DatabaseKey, isExclusive: Bool = false) throws -> NewStore? {
      var newStore: NewStore?
      try Connection.prepare(
        path: path, key: key, options: options, contents: contents, isExclusive: isExclusive, onOpen: onOpen,
        onComplete: { temporary in if isRemovable { newStore = try NewStore(temporary, path: path) } }, progress: progress)
      return newStore
    }
    try LibraryVersion.checkEncryptionIsAvailable(path: path)
    try Descriptors.check(path: path)
    try StoreFile.checkName(path)
    try StoreReplacement.finish(path)
    if StoreFile.exists(path) { throw StoreAccessError(.fileExists, path: path, operation: .create) }
    switch key {
    case .databaseKey(let secret):
      let key = try DatabaseKey(key: secret, salt: Cryptography.randomBytes(DatabaseKey.saltSize), format: format)
      let newStore = try await runInBackground { try createKeyless(path, contents) { try prepare(key) } }
      return StoreKeyring(storePath: path, newStore: newStore, state: State(file: nil, keys: UnlockedKeys(dataKeys: []), single: key))
    case .sqlcipherPassphrase(let passphrase, let format):
      let salt = try Cryptography.randomBytes(DatabaseKey.saltSize)
      let (key, newStore) = try await runInBackground {
        let key = try sqlcipherKey(passphrase, salt: salt, format: format)
        return (key, try createKeyless(path, contents) { try prepare(key) })
      }
      return StoreKeyring(storePath: path, newStore: newStore, state: State(file: nil, keys: UnlockedKeys(dataKeys: []), single: key))
    case .raw, .passphrase, .provider:
      if StoreFile.exists(KeyFileStorage.path(for: path)) {
        throw StoreAccessError(.keyFileExists, path: KeyFileStorage.path(for: path), operation: .create)
      }
      let request = StoreKeyRequest(url: URL(fileURLWithPath: path), storeID: nil, slots: [], attempt: 1, reason: .create)
      let (secret, kind, kdf) = try await key.newSecret(request)
      return try await runInBackground {
        let databaseKey = try DatabaseKey.random(format: format)
        var (file, keys) = KeyFile.make(for: databaseKey)
        try file.addSlot(secret, kind: kind, label: label, kdf: kdf, limit: workLimit, keys: &keys)
        try file.finish(keys)
        let newStore = try createStore(path, keyFile: file.serialized()) { try prepare(databaseKey, isExclusive: true) }
        newStore?.recordKeyFile()
        return StoreKeyring(storePath: path, workLimit: workLimit, newStore: newStore, state: State(file: file, keys: keys, single: nil))
      }
    }
  }

  /// Writes a key file under a pending name, creates its store, and renames the key file.
  ///
  /// The key file's lock ensures that, of several concurrent creations, one succeeds, and that none uses the pending key file of another.
  static func createStore<Result>(_ path: String, keyFile: [UInt8], _ prepare: () throws -> Result) throws -> Result {
    try withCreationLock(path) { try createLocked(path, keyFile, prepare) }
  }

  /// Creates a store without a key file. If it has large values, this still takes the lock of a key file: two concurrent copies to one path
  /// would each treat the other's files as leftovers.
  static func createKeyless<Result>(_ path: String, _ contents: StoreContents, _ prepare: () throws -> Result) throws -> Result {
    guard contents.isCreatedExclusively else { return try prepare() }
    return try withCreationLock(path, prepare)
  }

  private static func withCreationLock<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
    try StoreFile.checkFolder(StoreFile.folder(of: path))
    try StoreFile.checkName(path)
    return try KeyFileStorage.withLock(for: KeyFileStorage.path(for: path), operation: .create, body)
  }

  private static func createLocked<Result>(_ path: String, _ keyFile: [UInt8], _ prepare: () throws -> Result) throws -> Result {
    let keyPath = KeyFileStorage.path(for: path)
    if StoreFile.exists(path) { throw StoreAccessError(.fileExists, path: path, operation: .create) }
    if StoreFile.exists(keyPath) { throw StoreAccessError(.keyFileExists, path: keyPath, operation: .create) }
    // A pending name: a store without its key file would be lost, but a pending key file without its store is harmless.
    let pending = KeyFileStorage.pendingPath(for: path)
    let result: Result
    do {
      try KeyFileStorage.write(keyFile, to: pending, through: StoreFile.creationPath(for: keyPath))
      result = try prepare()
    } catch {
      unlink(pending)
      throw error
    }
    let identity = FileIdentity(path: pending)
    do {
      try adopt(pending, for: path)
    } catch {
      // After an error, the files must not look like a complete store. All of them were just created.
      StoreFile.removeDatabase(path)
      try? StoreFile.removeFolder(StoreFile.supportPath(for: path))
      unlink(pending)
      if identity != nil, FileIdentity(path: keyPath) == identity { unlink(keyPath) }
      throw error
    }
    return result
  }

  /// Renames a pending key file to its final name.
  static func adopt(_ pending: String, for path: String) throws {
    guard rename(pending, KeyFileStorage.path(for: path)) == 0 else {
      throw StoreAccessError.system(errno, path: pending, operation: .create)
    }
    try StoreFile.syncFolder(of: path)
  }

  /// Unlocks an existing store without changing it. An interrupted replacement is finished first.
  ///
  /// Errors of the file itself (missing, plaintext, not a store) are thrown before a key is requested.
  ///
  /// - Parameter isFinished: Whether the caller has already finished interrupted replacements.
  package static func unlock(
    storePath: String, key: StoreKey?, workLimit: KeyWorkLimit = KeyWorkLimit(), isFinished: Bool = false
  ) async throws -> StoreKeyring {
    let path = try StoreFile.absolutePath(storePath)
    try Descriptors.check(path: path)
    if !isFinished { try StoreReplacement.finish(path) }
    if case .databaseKey = key, withUnsafeCurrentTask(body: { $0?.unownedTaskExecutor != nil }) {
      // No derivation is needed, only reading the first page and computing its code. A caller with its own task executor does not need
      // another thread for that.
      return try unlockWithoutProvider(path, key, workLimit)
    }
    guard case .provider(let provider) = key else {
      // In one step: each thread switch costs more than unlocking with a raw key.
      return try await runInBackground { try unlockWithoutProvider(path, key, workLimit) }
    }
    let (file, isPending) = try await runInBackground { () throws -> (KeyFile, Bool) in
      _ = try BareDatabaseFile(path).salt()
      return try findKeyFile(for: path)
    }
    var previous: SecretBytes?
    var work = KeyWork(workLimit)
    for attempt in 1...maximumAttempts {
      let request = StoreKeyRequest(
        url: URL(fileURLWithPath: path), storeID: file.storeID, slots: file.slots.map(\.description), attempt: attempt, reason: .open)
      let secret = try await provider.requestKey(request)
      // Repeating the same key would only cost the same time again.
      if secret == previous { break }
      previous = secret
      let secrets = try StoreKey.unlockSecrets(provided: secret)
      let attempt = work
      let (keyring, spent) = try await runInBackground { () throws -> (StoreKeyring?, KeyWork) in
        var work = attempt
        return (try unlock(file, isPending: isPending, secrets, path: path, work: &work), work)
      }
      if let keyring { return keyring }
      work = spent
    }
    throw work.limitError(file, path: path) ?? StoreAccessError(.wrongKey, path: path, operation: .unlock)
  }

  private static func unlockWithoutProvider(_ path: String, _ key: StoreKey?, _ limit: KeyWorkLimit) throws -> StoreKeyring {
    let file = try BareDatabaseFile(path)
    let salt = try file.salt()
    let single: DatabaseKey
    var given: ProvidedKey?
    switch key {
    case nil, .provider:
      throw StoreAccessError(.keyRequired, path: path, operation: .open)
    case .databaseKey(let secret):
      single = try detectFormat(secret, salt: salt, of: file)
    case .sqlcipherPassphrase(let passphrase, let format):
      single = try sqlcipherKey(passphrase, salt: salt, format: format)
      given = .sqlcipherPassphrase(passphrase)
    case .raw(let secret):
      try StoreKey.checkRaw(secret)
      return try unlock(path, [.raw(secret)], limit)
    case .passphrase(let secret, _):
      return try unlock(path, try StoreKey.passphraseSecrets(secret), limit)
    }
    return StoreKeyring(storePath: path, state: State(file: nil, keys: UnlockedKeys(dataKeys: []), single: single, given: given))
  }

  private static func unlock(_ path: String, _ secrets: [UnlockSecret], _ limit: KeyWorkLimit) throws -> StoreKeyring {
    let (file, isPending) = try findKeyFile(for: path)
    var work = KeyWork(limit)
    guard let keyring = try unlock(file, isPending: isPending, secrets, path: path, work: &work) else {
      throw work.limitError(file, path: path) ?? StoreAccessError(.wrongKey, path: path, operation: .unlock)
    }
    return keyring
  }

  /// Returns the key file, or the pending one if a crash happened between the creation of the store and the renaming of its key file.
  static func findKeyFile(for path: String) throws(StoreAccessError) -> (file: KeyFile, isPending: Bool) {
    let keyPath = KeyFileStorage.path(for: path)
    let pending = KeyFileStorage.pendingPath(for: path)
    let isPending = !StoreFile.exists(keyPath) && StoreFile.exists(pending)
    let file: KeyFile
    do throws(StoreAccessError) { file = try readFile(isPending ? pending : keyPath) } catch  where isPending && StoreFile.exists(keyPath) {
      // It was renamed in the meantime.
      return try findKeyFile(for: path)
    }
    try file.format.checkSupported(path: path)
    return (file, isPending)
  }

  private static func unlock(
    _ file: KeyFile, isPending: Bool, _ secrets: [UnlockSecret], path: String, work: inout KeyWork
  ) throws -> StoreKeyring? {
    guard let keys = try file.unlock(secrets, path: KeyFileStorage.path(for: path), work: &work) else { return nil }
    let keyring = StoreKeyring(
      storePath: path, workLimit: work.limit, state: State(file: file, keys: keys, single: nil, given: .secrets(secrets)))
    if isPending, let newest = try keyring.candidates.first, try BareDatabaseFile(path).isFirstPageAuthentic(newest) {
      // If nothing can be written, the key file stays pending. If the store is still being created, its creator renames it.
      try? KeyFileStorage.withLock(for: KeyFileStorage.path(for: path)) {
        guard !StoreFile.exists(KeyFileStorage.path(for: path)) else { return }
        try adopt(KeyFileStorage.pendingPath(for: path), for: path)
      }
    }
    return keyring
  }

  /// Derives the key of a SQLCipher passphrase, in a format that the linked library can read.
  static func sqlcipherKey(_ passphrase: SecretBytes, salt: [UInt8], format: SQLCipherFormat) throws(StoreAccessError) -> DatabaseKey {
    // Errors of the key itself come first: no library would accept it.
    guard passphrase.count > 0 else { throw StoreAccessError(.invalidKey(.empty), path: nil, operation: .unlock) }
    try format.checkSupported(path: nil)
    return try DatabaseKey(sqlcipherPassphrase: passphrase, salt: salt, format: format)
  }

  /// Returns the key in the format that fits, since no key file names it; in the portable format if none fits.
  static func detectFormat(_ secret: SecretBytes, salt: [UInt8], of file: BareDatabaseFile) throws -> DatabaseKey {
    for format in [SQLCipherFormat.portable, .sqlcipher4, .sqlcipher3] {
      let key = try DatabaseKey(key: secret, salt: salt, format: format)
      if try file.isFirstPageAuthentic(key) { return key }
    }
    return try DatabaseKey(key: secret, salt: salt)
  }

  /// Runs blocking work on a dispatch queue, so that it blocks neither the caller's actor nor a thread of Swift's cooperative pool.
  static func runInBackground<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global(qos: .userInitiated).async {
        continuation.resume(with: Swift.Result { try body() })
      }
    }
  }
}
