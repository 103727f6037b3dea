// StoreHolder: who in this process has which store open, for the errors of others who want it.
import Foundation
import ObjectStore
import Synchronization

/// Notes, as long as it is there, that somebody in this process has a store open. Opening a store only notes it: what is said of it is made for an error.
final class StoreHolder: Sendable {
  /// Who has a store open.
  private struct Holding {
    var path: String
    var containerName: String?
    var configuration: String?

    var name: String {
      (containerName.map { "the container “\($0)”" } ?? "a coordinator without a container")
        + (configuration.map { " (configuration “\($0)”)" } ?? "")
    }
  }

  /// Those who have a store open, by their numbers.
  private static let holdings = Mutex<[Int: Holding]>([:])
  private static let lastNumber = Atomic<Int>(0)

  private let number: Int

  init(_ description: PersistentStoreDescription, path: String) {
    number = Self.lastNumber.add(1, ordering: .relaxed).newValue
    let holding = Holding(path: path, containerName: description.containerName, configuration: description.configuration)
    Self.holdings.withLock { [number] in $0[number] = holding }
  }

  deinit {
    Self.holdings.withLock { [number] in $0[number] = nil }
  }

  /// Those in this process who have a store open, in a sentence; nil where there is none.
  ///
  /// - Parameter path: The path of the store, or of a file or folder beside it.
  static func sentence(for path: String) -> String? {
    let path = plain(path)
    let all = holdings.withLock { $0 }.sorted { $0.key < $1.key }.map { (store: plain($0.value.path), name: $0.value.name) }
    let fitting = all.filter { path == $0.store || path.hasPrefix($0.store + ".") || path.hasPrefix($0.store + "-") }
    // Of two stores one of which has the other's name and more, it is the longer.
    let store = fitting.map(\.store).max { $0.count < $1.count }
    let names = fitting.filter { $0.store == store }.map(\.name)
    if names.isEmpty { return nil }
    let others = names.count > 3 ? ["\(names.count - 3) more"] : []
    return "In this process \(list(names.prefix(3) + others)) \(names.count == 1 ? "has" : "have") it open."
  }

  /// Names with commas between them, and an “and” before the last.
  private static func list(_ names: [String]) -> String {
    guard let last = names.last, names.count > 1 else { return names.first ?? "" }
    return names.dropLast().joined(separator: ", ") + " and " + last
  }

  /// A path in the one form in which paths are compared.
  private static func plain(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }
}
