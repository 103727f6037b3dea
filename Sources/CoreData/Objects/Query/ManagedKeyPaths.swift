import Foundation
public import ObjectContext
import Synchronization

extension EntityClassRegistry {
  /// Registers the key paths of a module's managed properties. Generated code calls this method when the program is loaded; the key paths
  /// are created when first used.
  @_spi(Generated) public static func enterKeyPaths(_ fill: @escaping @Sendable (inout KeyPathNames) -> Void) {
    ManagedKeyPaths.enter(fill)
  }
}

/// Maps Swift key paths to names of managed properties.
enum ManagedKeyPaths {
  private struct State {
    var waiting: [@Sendable (inout KeyPathNames) -> Void] = []
    var names = KeyPathNames()
  }
  private static let state = Mutex(State())

  static func enter(_ fill: @escaping @Sendable (inout KeyPathNames) -> Void) { state.withLock { $0.waiting.append(fill) } }

  /// Returns the dotted key path for a Swift key path.
  ///
  /// - Throws: ``UnknownKeyPathError`` if the key path does not consist of managed properties.
  static func name(of keyPath: AnyKeyPath) throws -> String {
    let names = state.withLock { state in
      for fill in state.waiting { fill(&state.names) }
      state.waiting = []
      return state.names
    }
    if let keys = names.keys(of: keyPath) { return keys.joined(separator: ".") }
    guard let keys = plainKeys(of: keyPath) else { throw UnknownKeyPathError(keyPath: "\(keyPath)") }
    return keys.joined(separator: ".")
  }

  /// Returns the keys of a path of stored properties of other classes, parsed from its description; nil if that fails.
  private static func plainKeys(of keyPath: AnyKeyPath) -> [String]? {
    guard !(type(of: keyPath).rootType is NSManagedObject.Type) else { return nil }
    let text = "\(keyPath)"
    let type = "\(Swift.type(of: keyPath).rootType)"
    guard text.hasPrefix("\\\(type).") else { return nil }
    let keys = text.dropFirst(type.count + 2).split(separator: ".").map { $0.filter { $0 != "?" && $0 != "!" } }
    return keys.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } } ? keys : nil
  }
}

/// The error that a key path does not lead to a managed property.
struct UnknownKeyPathError: LocalizedError {
  let keyPath: String
  var errorDescription: String? {
    "the key path \(keyPath) leads to no property with @NSManaged that other files can name; give the property's name as a text, or make it internal"
  }
}
