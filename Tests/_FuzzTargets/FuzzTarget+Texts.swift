import CipherDataToolKit
import Foundation
import ModelCodeGeneration
import ObjectModel
import ObjectQuery

extension FuzzTarget {
  private static let filmModel = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="1">
      <entity name="Film" representedClassName="Film" syncable="YES">
        <attribute name="title" attributeType="String" minValueString="1" maxValueString="200"/>
        <attribute name="year" optional="YES" attributeType="Integer 64" defaultValueString="1900" usesScalarValueType="YES"/>
        <attribute name="price" optional="YES" attributeType="Decimal" defaultValueString="1.5"/>
        <attribute name="seen" optional="YES" attributeType="Date" defaultDateTimeInterval="0"/>
        <attribute name="poster" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
        <attribute name="sorted" optional="YES" attributeType="String" derived="YES" derivationExpression="canonical:(title)"/>
        <relationship name="tags" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Tag" inverseName="films" inverseEntity="Tag"/>
        <fetchIndex name="byYear"><fetchIndexElement property="year" type="Binary" order="ascending"/></fetchIndex>
        <uniquenessConstraints><uniquenessConstraint><constraint value="title"/></uniquenessConstraint></uniquenessConstraints>
      </entity>
      <entity name="Tag" representedClassName="Tag" syncable="YES">
        <attribute name="name" attributeType="String"/>
        <relationship name="films" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Film" inverseName="tags" inverseEntity="Film"/>
      </entity>
      <fetchRequest name="old" entity="Film" predicateString="year &lt; $YEAR"/>
    </model>
    """

  /// The model that texts are parsed for.
  static let films: CompiledModel? = {
    guard let model = try? ManagedObjectModel(xmlData: Data(filmModel.utf8)) else { return nil }
    return try? CompiledModel(model)
  }()

  static let predicate = FuzzTarget(
    "predicate",
    dictionary: [
      "title", "year", "tags", "tags.name", "SELF", "$x", "@count", "@sum", ".", "(", ")", "{", "}", "[FIRST]", ",", "==", "!=", "<=", "IN",
      "BETWEEN", "CONTAINS", "LIKE", "MATCHES", "BEGINSWITH", "[cd]", " AND ", " OR ", "NOT ", "ANY ", "ALL ", "NONE ", "+", "-", "**",
      "%%", "<<", "1",
      "-2.5", "0x1F", "9e999", "'a'", "\"b\"", "\\u00e9", "TRUE", "nil", "SUBQUERY(", "TERNARY(", "CAST(", "FUNCTION(", "abs:(", "max(",
      "%@", "%K", "now()",
    ],
    texts: [
      "title BEGINSWITH[cd] 'a' AND (year > 5 OR NOT title IN {'x', nil})",
      "SUBQUERY(tags, $t, $t.name == 'x' AND ANY $t.films.year > 3).@count > 0",
      "TERNARY(year > 1, title, CAST(year, 'String')) == title", "max({year, 1, -2}) ** 2 << 1 >= abs(year - 3) %% 2",
      "ALL tags.films.year BETWEEN {1, 0x1F} && tags.@count == 2", "title MATCHES '(a|b)*c' OR title LIKE '*?x*'",
      "FUNCTION(title, 'length:') == 3",
      "TRUEPREDICATE OR FALSEPREDICATE",
    ]
  ) { input in
    let text = String(decoding: input, as: UTF8.self)
    let predicate: FetchPredicate
    do { predicate = try FetchPredicate(format: text, argumentArray: []) } catch let error as PredicateFormatError {
      return (0...text.count).contains(error.position) ? nil : "the error is reported at \(error.position) of \(text.count)"
    }
    guard try FetchPredicate(format: predicate.predicateFormat) == predicate else { return "what is printed is another predicate" }
    do {
      let coded = try JSONEncoder().encode(predicate)
      guard try JSONDecoder().decode(FetchPredicate.self, from: coded) == predicate else { return "what is coded is another predicate" }
    } catch is EncodingError {
      // A list in a list.
    }
    if let films {
      do {
        _ = try FetchResolver(model: films).resolve(FetchSpecification(entityName: "Film", predicate: predicate))
      } catch is FetchPredicateError {}
    }
    do { _ = try predicate.evaluate(with: ["title": "a title", "year": 1_984, "tags": ["a", "b"]]) } catch is FetchPredicateError {}
    return nil
  }

  static let request = FuzzTarget(
    "request", dictionary: ["{", "}", "[", "]", "\"and\"", "\"or\"", "\"not\"", "\"left\"", "\"right\"", "null", "true", "1e308", "-1"],
    seeds: [
      "title == 'a' AND NOT year IN {1, 2}", "SUBQUERY(tags, $t, $t.name == 'x').@count > 0", "TERNARY(year > 1, title, 'x') == title",
    ].compactMap {
      guard let predicate = try? FetchPredicate(format: $0) else { return nil }
      return try? JSONEncoder().encode(predicate)
    }
  ) { input in
    let predicate: FetchPredicate
    do { predicate = try JSONDecoder().decode(FetchPredicate.self, from: input) } catch is DecodingError { return nil }
    _ = predicate.predicateFormat
    guard try JSONDecoder().decode(FetchPredicate.self, from: JSONEncoder().encode(predicate)) == predicate else {
      return "what is coded is another predicate"
    }
    return nil
  }

  static let model = FuzzTarget(
    "model",
    dictionary: [
      "<entity name=\"", "<attribute name=\"", "<relationship name=\"", "attributeType=\"", "optional=\"YES\"", "toMany=\"YES\"",
      "parentEntity=\"",
      "<composite name=\"", "<!ENTITY", "<!DOCTYPE", "<![CDATA[", "&lt;", "&#x0;", "derivationExpression=\"", "<fetchIndex",
      "<configuration name=\"",
    ], texts: [filmModel, "<model><entity name=\"A\"/><entity name=\"B\" parentEntity=\"A\"/></model>"]
  ) { input in
    let model: ManagedObjectModel
    do { model = try ManagedObjectModel(xmlData: input) } catch { return nil }
    do { _ = try CompiledModel(model) } catch is ModelValidationError {}
    let again: ManagedObjectModel
    do { again = try ManagedObjectModel(xmlData: try model.xmlData()) } catch let error as ModelFileError {
      return "what was read cannot be written and read: \(error)"
    }
    return again.entities.map(\.name) == model.entities.map(\.name) ? nil : "what was written is another model"
  }

  static let configuration = FuzzTarget(
    "configuration", dictionary: ["\"model\"", "\"models\"", "\"path\"", "\"access\"", "{", "}", "[", "]", ":", ",", "\\u0041", "//"],
    texts: [
      #"{"model": "Films.xcdatamodeld"}"#, "{\n \"models\": [{\"model\": \"A.xcdatamodeld\", \"access\": \"public\", \"strict\": true}]\n}",
    ]
  ) { input in
    do { _ = try PluginConfiguration(input) } catch let error as PluginConfigurationError {
      return error.line >= 0 ? nil : "an error in line \(error.line)"
    }
    return nil
  }

  static let jsonLines = FuzzTarget(
    "json-lines",
    dictionary: [
      "{\"", "\":", "null", "true", "\\ud83d\\ude00", "\\u0000", "1e400", "-0", "[[", "]]", "\"@entity\":\"", "\"@id\":\"", "\"tags\":[",
    ],
    texts: [
      #"{"@entity":"Film","title":"Metropolis","year":1927,"tags":[{"@entity":"Tag","name":"silent"}]}"#,
      #"{"title":"M","price":"12.50","seen":"1931-05-11T00:00:00Z","poster":"AAEC"}"#, #"[1,-2.5e3,"\u00e9\n",{"a":null}]"#,
    ]
  ) { input in
    for line in input.split(separator: 0x0A) {
      let value: JSONValue
      do {
        value = try Data(line).withUnsafeBytes { (bytes) throws(JSONParser.SyntaxError) in try JSONParser.parse(bytes) }
      } catch let error as JSONParser.SyntaxError {
        guard (0...line.count).contains(error.offset) else { return "the error is reported at \(error.offset) of \(line.count)" }
        continue
      }
      guard try JSONParser.parse(value.serialized()) == value else { return "what is written is another value" }
      guard let films else { continue }
      do {
        _ = try JSONMapping(films, defaultEntity: films.entity(named: "Film")).object(value, line: 1)
      } catch is InputError {}
    }
    return nil
  }

  static let deb822 = FuzzTarget(
    "deb822",
    dictionary: [
      "Package: ", "Version: ", "Architecture: ", "Depends: ", " (>= 1.0)", " | ", ", ", "Tag: ", "{", "}", "::", "SHA256: ", "Size: ",
      "Maintainer: ", " <", ">",
      "\n\n", "\n ", "#", "[", "]",
    ],
    texts: [
      "Package: bash\nVersion: 5.2\nArchitecture: amd64\nMaintainer: A B <a@b.c>\nDepends: libc6 (>= 2.36), a | b [amd64] <!x>\nTag: role::{program,x}\nSize: 12\n"
        + "Description: a shell\n more\n\n# comment\nPackage: zsh\nVersion: 1\nArchitecture: i386\n"
    ]
  ) { input in
    let file = try scratch.get()
    try file.write(input)
    do {
      let lines = LineReader(try ByteSource(path: file.path), blockSize: 64)
      var reader = Deb822Reader(lines)
      var count = 0
      while let stanza = try reader.next() {
        count += 1
        guard stanza.names.count <= input.count else { return "more fields than bytes" }
        _ = try PackageRecord(stanza)
      }
      return count <= input.count ? nil : "more stanzas than bytes"
    } catch is InputError { return nil }
  }

  /// The file for parsers that read from one.
  static let scratch = Result { try ScratchFile() }

  static let arguments = FuzzTarget(
    "arguments",
    dictionary: [
      "create", "import", "fetch", "update", "delete", "history", "key", "rotate", "verify", "backup", "model", "--entity", "--where",
      "--set", "--format", "json",
      "--limit", "--help", "--version", "-", "--", "=", "\n", "--sort", "--passphrase-file", "--key-work",
    ],
    texts: [
      "fetch\nx.store\n--entity\nFilm\n--where\nyear > 5\n--limit\n5", "create\nx.store\n--model\nFilms.xcdatamodeld",
      "key\nrotate\nx.store", "--help",
      "update\nx.store\n--entity\nFilm\n--set\nyear = 5, title = 'x'\n--dry-run", "history\nx.store\n--after\n2026-01-01\n--values",
      "model\ndiff\na\nb",
    ]
  ) { input in
    // As many words as a command with all options has. Many command names in a row are slow, since each creates its options.
    let words = input.split(separator: 0x0A, omittingEmptySubsequences: false).prefix(32).map { String(decoding: $0, as: UTF8.self) }
    guard let objection = Tool.objection(to: words) else { return nil }
    return objection.isEmpty ? "arguments are rejected without a message" : nil
  }
}
