import Foundation
import ObjectStore
import Synchronization

/// Records, as long as the instance exists, that this process has a store open.
///
/// Error messages name the holders of a store that is in use. Opening a store only records the holder; the text is made when an error needs
/// it.
final class StoreHolder: Sendable {
  private struct Entry {
    var path: String
    var containerName: String?
    var configuration: String?

    var name: String {
      (containerName.map { "the container “\($0)”" } ?? "a coordinator without a container")
        + (configuration.map { " (configuration “\($0)”)" } ?? "")
    }
  }

  /// The holders of all open stores, by number.
  private static let entries = Mutex<[Int: Entry]>([:])
  private static let lastNumber = Atomic<Int>(0)

  private let number: Int

  init(_ description: PersistentStoreDescription, path: String) {
    number = Self.lastNumber.add(1, ordering: .relaxed).newValue
    let entry = Entry(path: path, containerName: description.containerName, configuration: description.configuration)
    Self.entries.withLock { [number] in $0[number] = entry }
  }

  deinit {
    Self.entries.withLock { [number] in $0[number] = nil }
  }

  /// Returns a message that names the holders of a store in this process, or `nil` if there are none.
  ///
  /// - Parameter path: The path of the store, or of one of its files or folders.
  static func message(for path: String) -> String? {
    let path = plain(path)
    let all = entries.withLock { $0 }.sorted { $0.key < $1.key }.map { (store: plain($0.value.path), name: $0.value.name) }
    let matching = all.filter { path == $0.store || path.hasPrefix($0.store + ".") || path.hasPrefix($0.store + "-") }
    // If the path fits two stores, one of whose paths is a prefix of the other's, the longer one is meant.
    let store = matching.map(\.store).max { $0.count < $1.count }
    let names = matching.filter { $0.store == store }.map(\.name)
    if names.isEmpty { return nil }
    let others = names.count > 3 ? ["\(names.count - 3) more"] : []
    return "In this process \(list(names.prefix(3) + others)) \(names.count == 1 ? "has" : "have") it open."
  }

  private static func list(_ names: [String]) -> String {
    guard let last = names.last, names.count > 1 else { return names.first ?? "" }
    return names.dropLast().joined(separator: ", ") + " and " + last
  }

  private static func plain(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }
}
