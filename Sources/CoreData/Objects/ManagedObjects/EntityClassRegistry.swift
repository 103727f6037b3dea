import Foundation
public import ObjectContext
import ObjectModel
import ObjectStore
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

/// The entity and the coordinator for which an object is created.
struct NewObjectTarget {
  let entity: CompiledEntity
  let seed: ManagedObjectSeed

  init(_ description: NSEntityDescription, _ context: NSManagedObjectContext?) {
    let name = description.name ?? ""
    guard let coordinator = context?.context.persistentStoreCoordinator ?? description.model?.coordinator,
      let entity = coordinator.compiledModel.entity(named: name)
    else {
      // The initializer of an object cannot throw, and an object requires an entity. Core Data raises an exception too.
      preconditionFailure("there is no entity “\(name)” in the model of the context, or no container uses the model")
    }
    self.entity = entity
    seed = ManagedObjectSeed(newObjectOf: entity, of: coordinator)
  }
}

/// Finds the entity of a class without a context.
enum EntityOfClass {
  static func find(_ type: NSManagedObject.Type) -> NSEntityDescription? {
    for model in UsedModels.all {
      let found = model.model.entities.first { entity in
        entity.managedObjectClassName.flatMap { EntityClassRegistry.type(named: $0) } == type
      }
      if let found { return model.entitiesByName[found.name] }
    }
    return nil
  }
}
