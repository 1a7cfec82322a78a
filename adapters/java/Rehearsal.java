package cgibridge;

import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

// What most programs begin with, done before the checkpoint: the virtual machine then has the JDK's
// classes, the code that it makes for string concatenation and lambdas, and what it has compiled.
// Nothing here draws, asks for the time, a variable or the process, or opens what stays open;
// renewal.c refuses a machine in which something has.
final class Rehearsal {
  private static final int TIMES = 20;

  private Rehearsal() {}

  private static void print(PrintStream out, int number, String word, Object object) {
    out.print("a" + word + "b\n");
    out.println(word + number);
    out.println("x=" + number + ", y=" + word + " z" + object + '.');
    out.println(word + "=" + word + "&" + word + "=" + word);
    out.printf("%s %d %5.2f %x%n", word, number, number * 1.5, number);
    out.write('\n');
  }

  private static void calculate(PrintStream out, int number, String word) {
    Function<String, String> shout = text -> text + "!";
    Supplier<Integer> supply = () -> number;
    Runnable run = () -> out.print(number);
    run.run();
    out.println(shout.apply(word) + supply.get());
    List<String> words = new ArrayList<>(List.of("b", "a", word));
    Collections.sort(words);
    words.sort(Comparator.comparing(text -> text.length()));
    out.print(words.stream().filter(text -> !text.isEmpty()).collect(Collectors.joining("&")));
    Map<String, Integer> counts = new TreeMap<>();
    for (String part : "q w e".split(" ")) counts.merge(part, 1, Integer::sum);
    for (Map.Entry<String, Integer> entry : counts.entrySet()) {
      out.println(entry.getKey() + "=" + entry.getValue());
    }
    new StringBuilder().append(word).append(number).append('c').append(2L).reverse().toString();
  }

  private static void read(String query) throws IOException {
    Map<String, String> fields = new HashMap<>();
    for (String pair : query.split("&")) {
      int equals = pair.indexOf('=');
      fields.put(URLDecoder.decode(pair.substring(0, equals), "UTF-8"),
                 URLDecoder.decode(pair.substring(equals + 1), "UTF-8"));
    }
    byte[] bytes = query.replaceAll("[&=]+", "\n").getBytes(StandardCharsets.UTF_8);
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(new ByteArrayInputStream(bytes)));
    while (lines.readLine() != null) fields.size();
    Files.readAllBytes(Path.of("/dev/null"));
  }

  private static void fail(PrintStream out) {
    try {
      Integer.parseInt("x");
    } catch (NumberFormatException error) {
      error.printStackTrace(out);
    }
  }

  static void run() throws IOException {
    PrintStream out = new PrintStream(new BufferedOutputStream(new ByteArrayOutputStream()), true);
    for (int i = 0; i < TIMES; ++i) {
      print(out, i, "w" + i, out);
      calculate(out, i, "w" + i);
      read("a=b+c&d=%20e&f=" + i);
      fail(out);
    }
    out.flush();
  }
}
