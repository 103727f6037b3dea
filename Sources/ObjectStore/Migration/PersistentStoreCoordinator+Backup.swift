// PersistentStoreCoordinator+Backup: the copy of a store that is about to be migrated, and its name.
import Foundation
import ObjectModel

extension PersistentStoreCoordinator {
  /// Copies a store that is about to be migrated, where its description asks for that.
  ///
  /// - Parameter request: The migration, which tells how far the copy is as a part of its own fraction, and calls it off.
  /// - Returns: The description of the copy, which opens with the store's keys.
  func backUp(
    _ store: any IncrementalStore, _ metadata: StoreMetadata, _ description: PersistentStoreDescription,
    before request: StoreMigrationRequest
  ) async throws -> PersistentStoreDescription? {
    guard let wish = description.migrationBackupURL else { return nil }
    let url = description.namesMigrationBackupExactly ? wish : MigrationBackupName(wish, metadata).free()
    var copy = PersistentStoreDescription(type: description.type, url: url)
    copy.configuration = description.configuration
    let isCopied: Bool
    do {
      isCopied = try await (store as? any FileStore)?.copy(to: copy, progress: request.progressOfBackup) != nil
    } catch let error as StoreError where error.code == .cancelled {
      throw StoreError(.migrationCancelled, operation: .migrate, path: description.url?.path)
    }
    guard isCopied else { throw StoreError(.noBackup(type: description.type.rawValue), operation: .migrate, path: description.url?.path) }
    return copy
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

  /// The first name that no file of a store has.
  func free() -> URL {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    var number = 1
    while true {
      let name = number == 1 ? stem + ending : "\(stem)-\(number)\(ending)"
      // A store has other files beside it, as NAME.keys and NAME-wal.
      if !names.contains(where: { $0 == name || $0.hasPrefix(name + ".") || $0.hasPrefix(name + "-") }) {
        return folder.appendingPathComponent(name)
      }
      number += 1
    }
  }
}
