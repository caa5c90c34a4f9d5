// Split by the first column, sum each part, merge. Plain text tools only.
nextflow.enable.dsl = 2

process split {
    input: path numbers
    output: path 'part.*'
    script: """
    awk '{ print \$2 > "part." \$1 }' $numbers
    """
}

process sum {
    maxForks 2
    input: path part
    output: path 'sum.txt'
    script: """
    sort -n $part > sorted.txt
    awk '{ sum += \$1 } END { print "$part", NR, sum }' sorted.txt > sum.txt
    """
}

process merge {
    publishDir 'results', mode: 'copy'
    input: path 'sum*.txt'
    output: path 'sums.txt'
    script: """
    cat sum*.txt | sort > sums.txt
    """
}

workflow {
    split(file('numbers.txt')) | flatten | sum | collect | merge
}
