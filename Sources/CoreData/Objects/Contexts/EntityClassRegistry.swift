import ObjectContext
import Synchronization

/// The managed object classes of a program. Generated code registers a module's classes when the program is loaded.
public enum EntityClassRegistry {
  private static let modules = Mutex<[String: [String: NSManagedObject.Type]]>([:])

  /// Registers the classes of a module, keyed by their names without the module.
  public static func enter(module: String, _ classes: [String: NSManagedObject.Type]) {
    modules.withLock { $0[module, default: [:]].merge(classes) { _, new in new } }
  }

  /// Returns the class for a name in a model: with or without its module, or with a leading dot for the model's own module.
  static func type(named name: String) -> NSManagedObject.Type? {
    modules.withLock { modules in
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      if parts.count == 2, let found = modules[parts[0]]?[parts[1]] { return found }
      let plain = name.hasPrefix(".") ? String(name.dropFirst()) : name
      // The first module in alphabetical order, so that the result is deterministic.
      return modules.sorted { $0.key < $1.key }.lazy.compactMap { $0.value[plain] }.first
    }
  }

  /// The sorted names of the modules with registered classes.
  static var moduleNames: [String] { modules.withLock { $0.keys.sorted() } }

  /// Returns the classes of a model's entities. Entities without a class use `NSManagedObject`.
  static func classes(of entities: [(name: String, className: String?)]) -> ManagedObjectClasses {
    var classes = ManagedObjectClasses()
    for entity in entities {
      classes.register(entity.className.flatMap { type(named: $0) } ?? NSManagedObject.self, forEntityName: entity.name)
    }
    return classes
  }
}
