/// How to fix an error, where the library and the tool name different means: the library names functions and properties, the tool names
/// options, commands, and how to write a value.
package enum Remedy: Sendable, Hashable, CaseIterable {
  // Files and keys.
  case createFolder
  case checkKey
  case allowKeyWork
  case registerTransformer
  case enableHistory
  case enableStableIDs
  case migrate

  // Conditions and orders.
  case setVariable
  case filterInMemory
  case compareWithDate
  case compareWithNumber
  case compareWithBoolean
  case compareWithData
  case compareWithUUID
  case compareWithObject
  case compareWithString
  case setOrder

  // Changes.
  case useSavedObject
  case useOtherValues
  case resolveConflicts

  /// The library's message.
  package var text: String {
    switch self {
    case .createFolder: "FileManager.createDirectory(at:withIntermediateDirectories:) creates it."
    case .checkKey: "Ask for the key again."
    case .allowKeyWork: "Set keyWorkLimit."
    case .registerTransformer: "Call AttributeTransformers.register(_:forName:) before the store is opened."
    case .enableHistory: "Set its description's historyTracking, or enable it with “cipherdata history --enable”."
    case .enableStableIDs: "Set its description's tracksObjectIdentity, or enable them with “cipherdata stable-ids --enable”."
    case .migrate: "Open it with its own model, or set the description's shouldMigrateStoreAutomatically to migrate it."
    case .setVariable: "Call withSubstitutionVariables(_:) with one before the predicate is used."
    case .filterInMemory: "Set allowsInMemoryFiltering on the request to have objects filtered by it."
    case .compareWithDate: "Give a Date as an argument (%@) instead of its text."
    case .compareWithNumber: "Give a number, without quotation marks, or as an argument (%d, %f, %@)."
    case .compareWithBoolean: "Write true or false without quotation marks, or give a Bool as an argument (%@)."
    case .compareWithData: "Give Data as an argument (%@)."
    case .compareWithUUID: "Give a UUID, or its text in full, as an argument (%@)."
    case .compareWithObject: "Use one of its attributes (name.attribute), or give an object or its ID as an argument (%@)."
    case .compareWithString: "Put the value into quotation marks, or give a String as an argument (%@)."
    case .setOrder: "Set sortDescriptors."
    case .useSavedObject: "Set it to the objectID of a saved object."
    case .useOtherValues: "Use other values, or set a mergePolicy that resolves this."
    case .resolveConflicts: "Set another mergePolicy, or refresh the objects in mergeConflicts and save again."
    }
  }
}
