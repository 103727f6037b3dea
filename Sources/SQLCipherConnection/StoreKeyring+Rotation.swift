// A new data key for a store: copy, verify and swap. `sqlite3_rekey` is never used: it can destroy a file and report success.

import Foundation

extension StoreKeyring {
  /// The copy under the new key until it takes the store's place.
  static func rotationPath(for storePath: String) -> String { storePath + ".new" }

  /// Finds the generation that the database really has, and rewrites the key file with that one alone.
  func settle(_ candidates: [DatabaseKey], options: ConnectionOptions) throws -> DatabaseKey {
    let bare = try BareDatabaseFile(storePath)
    let authentic = try candidates.firstIndex { try bare.isFirstPageAuthentic($0) }
    // Torn by a crash: let each key be tried with the log and the journal.
    var lastError: (any Error)?
    for index in authentic.map({ [$0] }) ?? Array(candidates.indices) {
      do {
        // The open connection keeps a rotation of another process from starting, and waits for one that runs.
        let connection = try Connection(opening: storePath, key: candidates[index], options: options)
        defer { connection.close() }
        if !options.isReadOnly {
          // The candidates stand in the opposite order of the generations.
          let generation = candidates.count - 1 - index
          try edit { file, keys in file.keepGeneration(at: generation, keys: &keys) }
          StoreFile.removeDatabase(Self.rotationPath(for: storePath))
        }
        return candidates[index]
      } catch {
        lastError = error
      }
    }
    throw lastError ?? StoreAccessError(.storeCorrupt(.pageMAC), path: storePath, operation: "open")
  }
}
