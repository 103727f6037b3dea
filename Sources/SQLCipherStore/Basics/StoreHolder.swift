// StoreHolder: who in this process has which store open, for the errors of others who want it.
import Foundation
import ObjectStore
import Synchronization

/// Notes, as long as it is there, that somebody in this process has a store open.
final class StoreHolder: Sendable {
  /// The names of those who have a store open, by the path of the store and the number of the holder.
  private static let holders = Mutex<[String: [Int: String]]>([:])
  private static let lastNumber = Atomic<Int>(0)

  private let path: String
  private let number: Int

  init(_ description: PersistentStoreDescription, path: String) {
    self.path = Self.plain(path)
    number = Self.lastNumber.add(1, ordering: .relaxed).newValue
    let configuration = description.configuration.map { " (configuration “\($0)”)" } ?? ""
    let name = (description.containerName.map { "the container “\($0)”" } ?? "a coordinator without a container") + configuration
    Self.holders.withLock { [path = self.path, number] in $0[path, default: [:]][number] = name }
  }

  deinit {
    Self.holders.withLock { [path, number] holders in
      holders[path]?[number] = nil
      if holders[path]?.isEmpty ?? false { holders[path] = nil }
    }
  }

  /// Those in this process who have a store open, in a sentence; nil where there is none.
  ///
  /// - Parameter path: The path of the store, or of a file or folder beside it.
  static func sentence(for path: String) -> String? {
    let path = plain(path)
    let names = holders.withLock { holders in
      holders.first { path == $0.key || path.hasPrefix($0.key + ".") || path.hasPrefix($0.key + "-") }?.value.sorted { $0.key < $1.key }
        .map(\.value)
    }
    guard let names, !names.isEmpty else { return nil }
    let others = names.count > 3 ? ["\(names.count - 3) more"] : []
    return "In this process \(Self.list(names.prefix(3) + others)) \(names.count == 1 ? "has" : "have") it open."
  }

  /// Names with commas between them, and an “and” before the last.
  private static func list(_ names: [String]) -> String {
    guard let last = names.last, names.count > 1 else { return names.first ?? "" }
    return names.dropLast().joined(separator: ", ") + " and " + last
  }

  /// A path in the one form in which paths are compared.
  private static func plain(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }
}
