// EntityClassRegistry: the classes of managed objects of a program, by their names.
import ObjectContext
import Synchronization

/// The classes of managed objects of a program. What the plugin writes for a module enters its classes when the program is loaded.
public enum EntityClassRegistry {
  private static let modules = Mutex<[String: [String: NSManagedObject.Type]]>([:])

  /// Enters the classes of a module, by their names without it.
  public static func enter(module: String, _ classes: [String: NSManagedObject.Type]) {
    modules.withLock { $0[module, default: [:]].merge(classes) { _, new in new } }
  }

  /// The class of a name as models have it: with or without its module, or with a dot before it for the module that the model is of.
  static func type(named name: String) -> NSManagedObject.Type? {
    modules.withLock { modules in
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      if parts.count == 2, let found = modules[parts[0]]?[parts[1]] { return found }
      let plain = name.hasPrefix(".") ? String(name.dropFirst()) : name
      // The first module in the order of names, so that the same program finds the same class.
      return modules.sorted { $0.key < $1.key }.lazy.compactMap { $0.value[plain] }.first
    }
  }

  /// The names of the modules with classes, in order.
  static var moduleNames: [String] { modules.withLock { $0.keys.sorted() } }

  /// The classes of a model's entities. An entity without a class of its own has plain objects.
  static func classes(of entities: [(name: String, className: String?)]) -> ManagedObjectClasses {
    var classes = ManagedObjectClasses()
    for entity in entities {
      classes.register(entity.className.flatMap { type(named: $0) } ?? NSManagedObject.self, forEntityName: entity.name)
    }
    return classes
  }
}
