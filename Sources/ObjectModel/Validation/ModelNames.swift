// ModelNames: which names entities and properties may have.

/// Rules of names.
enum ModelNames {
  /// Members without arguments of `ManagedObject` and of every object, which a property of the name would hide. Core Data refuses the same
  /// kind of names.
  static let reservedPropertyNames: Set<String> = [
    // ManagedObject
    "objectID", "entity", "managedObjectContext", "hasChanges", "hasPersistentChangedValues", "isInserted", "isUpdated", "isDeleted",
    "isUsable",
    "isFault", "faultingState", "changedValues", "changedValuesForCurrentEvent", "committedValues", "awakeFromInsert", "awakeFromFetch",
    "willSave", "didSave", "prepareForDeletion", "willTurnIntoFault", "didTurnIntoFault", "validateForInsert", "validateForUpdate",
    "validateForDelete",
    // every object
    "description", "debugDescription", "hash", "hashValue", "class", "superclass", "self", "Self", "Type", "Protocol", "init", "copy",
    "mutableCopy", "zone", "isProxy", "retain", "release", "autorelease", "retainCount", "dealloc", "observationInfo",
    "objectWillChange",
  ]

  /// Why an entity may not have a name; nil when it may.
  static func problem(ofEntity name: String) -> String? {
    if name.isEmpty { return "an entity needs a name" }
    return hasControlCharacters(name) ? "the entity's name has a control character; remove it" : nil
  }

  /// Why a property may not have a name; nil when it may. SQL's keywords, quotes, spaces and letters of every script are allowed.
  static func problem(ofProperty name: String) -> String? {
    if name.isEmpty { return "a property needs a name" }
    if hasControlCharacters(name) { return "the property's name has a control character; remove it" }
    if name.utf8.contains(UInt8(ascii: ".")) { return "a property's name may not contain a dot, which separates the parts of key paths" }
    if name.utf8.first == UInt8(ascii: "@") { return "a property's name may not begin with @, which begins the functions of key paths" }
    if reservedPropertyNames.contains(name) { return "'\(name)' is a member of every managed object; choose another name" }
    return nil
  }

  static func hasControlCharacters(_ name: String) -> Bool {
    name.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F || $0.value == 0xFFFE || $0.value == 0xFFFF }
  }
}
