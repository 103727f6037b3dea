// ManagedKeyPaths: the names of managed properties by Swift's key paths.
import Foundation
public import ObjectContext
import Synchronization

extension EntityClassRegistry {
  /// Enters the key paths of a module's managed properties. What the plugin writes calls it when the program is loaded; the key paths are made when somebody asks for one.
  public static func enterKeyPaths(_ fill: @escaping @Sendable (inout _KeyPathNames) -> Void) { ManagedKeyPaths.enter(fill) }
}

/// The names of managed properties by Swift's key paths.
enum ManagedKeyPaths {
  private struct State {
    var waiting: [@Sendable (inout _KeyPathNames) -> Void] = []
    var names = _KeyPathNames()
  }
  private static let state = Mutex(State())

  static func enter(_ fill: @escaping @Sendable (inout _KeyPathNames) -> Void) { state.withLock { $0.waiting.append(fill) } }

  /// The dotted path that a key path stands for.
  ///
  /// - Throws: ``UnknownKeyPathError`` where it is none of managed properties.
  static func name(of keyPath: AnyKeyPath) throws -> String {
    let names = state.withLock { state in
      for fill in state.waiting { fill(&state.names) }
      state.waiting = []
      return state.names
    }
    guard let keys = names.keys(of: keyPath) else { throw UnknownKeyPathError(keyPath: "\(keyPath)") }
    return keys.joined(separator: ".")
  }
}

/// A key path leads to no managed property.
struct UnknownKeyPathError: LocalizedError {
  let keyPath: String
  var errorDescription: String? {
    "the key path \(keyPath) leads to no property with @NSManaged that other files can name; give the property's name as a text, or make it internal"
  }
}
