// PersistentStoreCoordinator+Backup: the copy of a store that is about to be migrated, and its name.
import Foundation
import ObjectModel

extension PersistentStoreCoordinator {
  /// The copy of a store from before its migration.
  struct MigrationBackup {
    /// Opens the copy, with the store's keys.
    let description: PersistentStoreDescription
    /// Whether this migration has made it; else an earlier one has, which was not finished.
    let isNew: Bool
  }

  /// Copies a store that is about to be migrated, where its description asks for that. The copy that a migration of this state has made before, and that was killed
  /// then, is used again.
  ///
  /// - Parameter request: The migration, which tells how far the copy is as a part of its own fraction, and calls it off.
  func backUp(
    _ store: any IncrementalStore, _ metadata: StoreMetadata, _ description: PersistentStoreDescription,
    before request: StoreMigrationRequest
  ) async throws -> MigrationBackup? {
    guard let wish = description.migrationBackupURL else { return nil }
    var copy = PersistentStoreDescription(type: description.type, url: wish)
    copy.configuration = description.configuration
    copy.copiedModelHashes = metadata.modelHashes
    do {
      let checker = store as? any CopyCheckingStore
      var attempts = 0
      while true {
        let names = description.namesMigrationBackupExactly ? nil : MigrationBackupName(wish, metadata).names()
        for url in names?.taken ?? [wish] {
          copy.url = url
          if try await checker?.isCopied(to: copy, progress: request.progressOfBackup) ?? false {
            return MigrationBackup(description: copy, isNew: false)
          }
        }
        copy.url = names?.free ?? wish
        do {
          let isCopied = try await (store as? any FileStore)?.copy(to: copy, progress: request.progressOfBackup) != nil
          guard isCopied else {
            throw StoreError(.noBackup(type: description.type.rawValue), operation: .migrate, path: description.url?.path)
          }
          return MigrationBackup(description: copy, isNew: true)
        } catch let error as StoreError where error.code == .alreadyExists && attempts < 3 && names != nil {
          // Another process migrates the store too, and has made its copy meanwhile.
          attempts += 1
        }
      }
    } catch let error as StoreError where error.code == .migrationNeeded {
      // Another process has migrated the store meanwhile, and needed no copy of this one.
      if try !store.beginsMigration(request) { return nil }
      throw error
    } catch let error as StoreError where error.code == .cancelled {
      throw StoreError(.migrationCancelled, operation: .migrate, path: description.url?.path)
    }
  }
}

extension StoreMigrationRequest {
  /// What of the whole the copy before a migration is: it writes every page once, as a migration does that goes over all rows a few times.
  private static let backupShare = 0.25

  /// What the copy before the migration tells; it is nil where nobody listens and nobody can call the migration off.
  fileprivate var progressOfBackup: (@Sendable (_ done: Int, _ total: Int) -> Bool)? {
    if progress == nil, cancellation == nil { return nil }
    return { [progress, cancellation] done, total in
      let share = total > 0 ? Double(done) / Double(total) : 0
      progress?(
        MigrationProgress(
          phase: "copying the store before its migration", completedUnitCount: done, totalUnitCount: total,
          fractionCompleted: share * Self.backupShare))
      return !(cancellation?.isCancelled ?? false)
    }
  }

  /// The same migration, whose reports follow those of the copy.
  var afterBackup: StoreMigrationRequest {
    guard let progress else { return self }
    var request = self
    request.progress = { report in
      // The sum of the shares may miss 1 by a rounding error.
      let fraction = report.fractionCompleted == 1 ? 1 : Self.backupShare + (1 - Self.backupShare) * report.fractionCompleted
      progress(
        MigrationProgress(
          phase: report.phase, completedUnitCount: report.completedUnitCount, totalUnitCount: report.totalUnitCount,
          fractionCompleted: fraction))
    }
    return request
  }
}

/// The name of a copy from before a migration: that which was wished for, with the version that the store has. `before.store` gives
/// `before-library-1.store`, and `before-library-1-2.store` where the former is taken.
struct MigrationBackupName {
  private let folder: URL
  private let stem: String
  private let ending: String

  init(_ wish: URL, _ metadata: StoreMetadata) {
    folder = wish.deletingLastPathComponent()
    stem = "\(wish.deletingPathExtension().lastPathComponent)-\(Self.version(metadata))"
    ending = wish.pathExtension.isEmpty ? "" : "." + wish.pathExtension
  }

  /// The version's identifiers, with what a file's name should not have as underscores; a part of the model's checksum where it has none.
  private static func version(_ metadata: StoreMetadata) -> String {
    let identifiers = metadata.versionIdentifiers.filter { !$0.isEmpty }.sorted()
    if identifiers.isEmpty { return metadata.modelChecksum.isEmpty ? "older" : String(metadata.modelChecksum.prefix(8)) }
    let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+")
    return String(identifiers.joined(separator: "+").prefix(64).map { allowed.contains($0) ? $0 : "_" })
  }

  /// The first name that no file of a store has, and those before it.
  func names() -> (taken: [URL], free: URL) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    var taken: [URL] = []
    while true {
      let name = taken.isEmpty ? stem + ending : "\(stem)-\(taken.count + 1)\(ending)"
      // A store has companion files such as NAME.keys and NAME-wal. These two are left by a process that was killed as it made a copy: the next copy takes them
      // over.
      let left = [name + ".keys.new", name + ".keys.lock"]
      let url = folder.appendingPathComponent(name)
      if !names.contains(where: { $0 == name || ($0.hasPrefix(name + ".") || $0.hasPrefix(name + "-")) && !left.contains($0) }) {
        return (taken, url)
      }
      taken.append(url)
    }
  }
}
