/// Replacements for phrases in the library's messages. The library's advice for developers names functions and properties; users of the
/// tool need options and values.
package enum ToolWords {
  /// A phrase of a library message and its replacement in the tool.
  package struct Phrase: Sendable {
    package let library: String
    package let tool: String
  }

  /// All replacements. A test checks that the library's sources contain each phrase.
  package static let phrases: [Phrase] = [
    // Files and keys.
    Phrase(
      library: ", for example with FileManager.createDirectory(at:withIntermediateDirectories:)", tool: ", for example with mkdir -p"),
    Phrase(library: "(keyWorkLimit, --key-work)", tool: "(--key-work)"),
    Phrase(
      library: "he key opens none of the store's key slots", tool: "he passphrase is wrong: it opens none of the store's key slots"),
    Phrase(
      library: "call AttributeTransformers.register(_:forName:) before the store is opened",
      tool: "only the application that has it can read or write such values"),
    // Conditions.
    Phrase(
      library: " Call withSubstitutionVariables(_:) with one before the predicate is used.", tool: " Write the value in its place."),
    Phrase(
      library: " Set allowsInMemoryFiltering on the request to have objects filtered by it.", tool: " Name a property that is stored."),
    Phrase(
      library: " Give a Date as an argument (%@) instead of its text.",
      tool: " Write CAST('2026-01-31T12:00:00Z', 'Date'), with your date."),
    Phrase(
      library: " Give a number, without quotation marks, or as an argument (%d, %f, %@).", tool: " Write a number without quotation marks."),
    Phrase(
      library: " without quotation marks, or give a Bool as an argument (%@).", tool: " without quotation marks."),
    Phrase(
      library: " Give Data as an argument (%@).", tool: " Write CAST('AQI=', 'Data'), with your bytes in Base64."),
    Phrase(
      library: " Give a UUID, or its text in full, as an argument (%@).", tool: " Write the UUID's text in full."),
    Phrase(library: ", or give an object or its ID as an argument (%@).", tool: "."),
    Phrase(
      library: " into quotation marks, or give a String as an argument (%@).", tool: " into quotation marks."),
    Phrase(library: " a condition on objects in predicate.", tool: " a condition on objects with --where."),
    Phrase(library: " need an order: set sortDescriptors.", tool: " need an order: give --sort."),
    // Changes.
    Phrase(
      library: "set it to the objectID of a saved object.", tool: "set it to an object's URI, as the column @id shows it."),
    Phrase(
      library: " does not resolve this: use other values, or set a mergePolicy that does.",
      tool: " does not resolve this: use other values."),
    Phrase(
      library: " does not resolve this: set another mergePolicy, or refresh the objects in mergeConflicts and save again.",
      tool: " does not resolve this: discard the unsaved changes, and try again."),
    Phrase(
      library: " Set its description's historyTracking, or enable it with “cipherdata history --enable”.",
      tool: " Enable it with “cipherdata history --enable”."),
    Phrase(
      library: "Open it with its own model, or set the description's shouldMigrateStoreAutomatically to migrate it.",
      tool: "Migrate it with “cipherdata migrate”."),
  ]

  /// Returns a library message with its phrases replaced.
  package static func said(of sentence: String) -> String {
    phrases.reduce(sentence) { $0.replacing($1.library, with: $1.tool) }
  }
}
